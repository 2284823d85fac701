#!/usr/bin/env bash
# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
# backlight check where rays follow the parameter: frozen paths cross kinks within a step, and the gradient is held to the pixels that change
# smoothly, at this step or a shorter one. Where there are too few, as at the least roughness and within a step that is far too long, it is not judged.
# A gradient that is wrong is called so: that of biased radiative backpropagation, which takes derivatives along other paths.
set -u

program=$BL_PROGRAM
scene=$BL_SOURCE_DIR/assets/papers/sheet.xml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
bad=0
# STATUS VERDICT ARGUMENTS...
expect() {
    local status=$1 verdict=$2
    shift 2
    "$program" check "$scene" -D resolution=16 --quiet "$@" >.out 2>.err
    local got=$?
    grep -q 'no device\|not found' .err && exit 77
    if [ $got -ne "$status" ] || ! grep -q "$verdict" .out; then
        echo "FAILED: check $*: status $got: $(cat .out .err)"
        bad=1
    fi
}
turned=(--param emitter.to_world -D material=metal -D attached=always --spp 4 --seeds 2)
expect 0 "agrees where pixels change smoothly" "${turned[@]}" --epsilon 0.5
expect 0 "    agrees$" "${turned[@]}" --epsilon 0.003
ball=(--param glass.eta -D material=glass -D shape=sphere -D depth=4 -D attached=never -D alpha=.2 --spp 32 --seeds 4)
expect 0 "agrees where pixels change smoothly" "${ball[@]}"
expect 1 "NOT JUDGED" "${turned[@]}" --epsilon 100
expect 1 "NOT JUDGED" --param metal.alpha.value -D material=metal -D alpha=0.0001 --spp 4 --seeds 2 --epsilon 0.00005
expect 1 "WRONG" --integrator rb_biased1 --param metal.alpha.value -D material=metal -D alpha=0.2 --spp 16 --seeds 2
exit $bad
