#!/usr/bin/env bash
# LABELS: native lavapipe swiftshader
# SPDX-License-Identifier: BSD-3-Clause
# --precision double: frozen differences agree with the gradient to a billionth, with steps so short that images in single precision show
# their rounding alone; results are kept as float64. SwiftShader has no doubles, and says so.
set -u

program=$BL_PROGRAM
cornell=$BL_SOURCE_DIR/assets/cornell/scene.xml
sheet=$BL_SOURCE_DIR/assets/papers/sheet.xml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}

"$program" render "$cornell" -D resolution=8 --spp 4 --precision double -o image.npy --quiet 2>.err
got=$?
grep -q 'no device\|not found' .err && exit 77
if [ "$BL_DEVICE" = swiftshader ]; then
    [ $got -eq 1 ] && grep -q 'SwiftShader.*has no double precision (shaderFloat64)' .err || fail "SwiftShader: status $got: $(cat .err)"
    [ ! -e image.npy ] || fail "SwiftShader left an image"
    exit $bad
fi
[ $got -eq 0 ] || fail "render: status $got: $(cat .err)"
"$program" render "$cornell" -D resolution=8 --spp 4 -o image.npy --quiet 2>/dev/null && fail "single precision wrote float64"

# RELATIVE ARGUMENTS...: the difference of gradient and frozen differences in the worst seed, over the gradient
worst() {
    "$program" check "$@" -D resolution=8 --spp 4 --seeds 2 --json --quiet >.out 2>.err || fail "check $*: $(cat .out .err)"
    "$BL_PYTHON" -c 'import json; p = json.load(open(".out"))["parameters"][0]
print(abs(p["frozen"]["worst_difference"]) / max(abs(v) for v in p["gradient"]["per_seed"]))'
}
# COMPARISON NUMBER ARGUMENTS...
expect() {
    local relation=$1 bound=$2
    shift 2
    local off
    off=$(worst "$@")
    "$BL_PYTHON" -c "import sys; sys.exit(not $off $relation $bound)" || fail "check $*: off by $off, which is not $relation $bound"
}
red=("$cornell" --param red.reflectance.value --epsilon 0.0001)
expect '<' 1e-9 "${red[@]}" --precision double
expect '>' 1e-5 "${red[@]}"
if [ "$BL_DEVICE" = native ]; then # lavapipe compiles these for a minute
    expect '<' 1e-8 "$sheet" --param metal.alpha.value -D material=metal -D alpha=.2 --epsilon 1e-5 --precision double
    # In single precision steps that are long enough cross kinks, so only some pixels can be compared.
    expect '<' 1e-8 "$sheet" --param glass.eta -D material=glass -D shape=sphere -D depth=4 -D attached=never -D alpha=.2 --epsilon 1e-5 \
        --precision double
fi

"$BL_PYTHON" -c 'import numpy as n; i = n.load("image.npy"); assert i.dtype == n.float64 and i.shape == (8, 8, 3), i.dtype
n.save("ones.npy", n.ones((8, 8, 3), n.float32))' || fail "image.npy"
"$program" grad "$cornell" -D resolution=8 --spp 4 --param red.reflectance.value --adjoint ones.npy -o out --precision double --quiet 2>.err ||
    fail "grad: $(cat .err)"
"$BL_PYTHON" -c 'import numpy as n; g = n.load("out/red.reflectance.value.npy"); assert g.dtype == n.float64 and (g != g.astype("f")).any(), g' ||
    fail "the gradient is no float64"
grep -q '"precision":.*"double"' out/summary.json || fail "summary.json does not tell the precision"
exit $bad
