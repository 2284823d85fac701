# SPDX-License-Identifier: BSD-3-Clause
# cmake -DPROGRAM=backlight -DFOLDER=DIR -P Manual.cmake: manual pages and completion for shells, as `backlight help`
# prints them.
function(write file)
    execute_process(COMMAND "${PROGRAM}" help ${ARGN} OUTPUT_FILE "${FOLDER}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY "${FOLDER}/man1" "${FOLDER}/bash" "${FOLDER}/zsh" "${FOLDER}/fish")
write(man1/backlight.1 man)
file(STRINGS "${FOLDER}/man1/backlight.1" commands REGEX "^\\.BR backlight")
foreach(line IN LISTS commands)
    string(REGEX REPLACE "^\\.BR backlight.-([a-z]+) .*" "\\1" command "${line}")
    write(man1/backlight-${command}.1 man ${command})
endforeach()
write(bash/backlight bash)
write(zsh/_backlight zsh)
write(fish/backlight.fish fish)
