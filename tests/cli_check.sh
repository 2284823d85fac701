#!/usr/bin/env bash
# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
# backlight check where rays follow the parameter: long steps cross kinks, which the report says, without calling that agreement. Nor does it say so
# where the kink is at the parameter's value, as that of the least roughness is, and shorter steps show no better. Where paths lie at total reflection
# the mean over seeds agrees, of which few seeds say too little.
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
expect 1 "the step is too large" "${turned[@]}" --epsilon 0.5
expect 0 "    agrees$" "${turned[@]}" --epsilon 0.003
expect 1 "the step is too large" "${turned[@]:0:6}" --spp 1 --seeds 8 --epsilon 0.2 # whatever the mean says
ball=(--param glass.eta -D material=glass -D shape=sphere -D depth=4 -D attached=never -D alpha=.2 --spp 32)
expect 0 "agrees in the mean over seeds" "${ball[@]}" --seeds 32
expect 1 "WRONG\|the step is too large" "${ball[@]}" --seeds 2
expect 1 "WRONG" "${turned[@]:0:8}" --seeds 32 --epsilon 100 # so far off that shorter steps are, too; and the mean is
expect 1 "WRONG" --param metal.alpha.value -D material=metal -D alpha=0.0001 --spp 4 --seeds 2 --epsilon 0.00005
exit $bad
