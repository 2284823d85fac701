#!/usr/bin/env bash
# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
# backlight grad --forward: its files, and that NAME, NAME=1 and a tangent of ones in a file are the same direction. In reverse mode names
# may be patterns: what is matched twice is taken once, in the scene's order.
set -u

program=$BL_PROGRAM
scene=$BL_SOURCE_DIR/assets/cornell/scene.xml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
bad=0
complain() {
    echo "FAILED: $*"
    bad=1
}
forward() {
    "$program" grad "$scene" --spp 1 --quiet "$@" >.out 2>.err && return
    grep -q 'no device\|not found' .err && exit 77
    complain "grad $*: $(cat .err)"
}
name=red.reflectance.value

forward --forward $name -o plain
forward --forward $name=1 -o one
forward --forward $name=2 -o two
forward --forward $name green.reflectance.value=-0.5 -o both
[ "$(ls plain | tr '\n' ' ')" = "$name.exr $name.png summary.json " ] || complain "plain holds $(ls plain)"
[ "$(ls both | tr '\n' ' ')" = "direction.exr direction.png summary.json " ] || complain "both holds $(ls both)"
forward --forward $name --integrator ptracer -o light
[ "$(ls light | tr '\n' ' ')" = "$name.exr $name.png summary.json " ] || complain "paths from lights: $(ls light)"
forward --forward $name=2 --integrator ptracer -o brighter
cmp -s light/$name.exr brighter/$name.exr && complain "paths from lights: a direction of 2 is that of ones"
cmp -s light/$name.exr plain/$name.exr && complain "paths from lights have the noise of those from the camera"
cmp -s plain/$name.exr one/$name.exr || complain "a direction of 1 is not that of ones"
cmp -s plain/$name.exr two/$name.exr && complain "a direction of 2 is that of ones"
grep -q '"mode":.*"forward"' plain/summary.json || complain "the summary says nothing of the mode"
# FILE COUNT: so many ones as an array of NumPy, written by hand
ones() {
    "$BL_PYTHON" -c 'import struct, sys
count = int(sys.argv[2])
header = ("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (%d,), }" % count).replace("\"", "\x27").ljust(117) + "\n"
open(sys.argv[1], "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%df" % count, *[1] * count))' "$@"
}
ones ones.npy 3
ones four.npy 4
forward --forward $name --tangent ones.npy -o file
cmp -s plain/$name.exr file/$name.exr || complain "a file of ones is not the direction of ones"
"$program" grad "$scene" --forward $name --tangent four.npy -o four 2>.err && complain "a tangent of another size was taken"
grep -q 'four.npy' .err || complain "nothing said of the tangent's size: $(cat .err)"
[ -e four ] && complain "a refused tangent left a folder behind"
"$program" grad "$scene" --spp 1 --quiet --adjoint plain/$name.exr --param 'red.*' '*.reflectance.value' 'light.emitter.radianc?.value' -o some 2>.err ||
    complain "grad by patterns: $(cat .err)"
wanted="green light.bsdf light.emitter red summary.json white "
[ "$(ls some | sed 's/\.\(reflectance\|radiance\)\.value\.npy//' | tr '\n' ' ')" = "$wanted" ] || complain "patterns: $(ls some)"
order=$(grep -o '"name":[[:space:]]*"[^"]*"' some/summary.json | cut -d'"' -f4 | tr '\n' ' ')
case $order in *"red.reflectance.value white.reflectance.value green"*) ;; *) complain "patterns in the order $order" ;; esac
exit $bad
