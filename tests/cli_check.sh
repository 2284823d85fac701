#!/usr/bin/env bash
# LABELS: swiftshader
# SPDX-License-Identifier: BSD-3-Clause
# backlight check where rays follow the parameter: long steps cross kinks, which the report says, without calling that agreement.
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
    "$program" check "$scene" --param emitter.to_world -D material=metal -D attached=always -D resolution=16 --spp 4 --seeds 2 --quiet "$@" >.out 2>.err
    local got=$?
    grep -q 'no device\|not found' .err && exit 77
    if [ $got -ne "$status" ] || ! grep -q "$verdict" .out; then
        echo "FAILED: check $*: status $got: $(cat .out .err)"
        bad=1
    fi
}
expect 1 "the step is too large" --epsilon 0.05
expect 0 "agrees" --epsilon 0.003
exit $bad
