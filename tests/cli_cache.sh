# LABELS: swiftshader native lavapipe
# SPDX-License-Identifier: BSD-3-Clause
#
# The program and its kernel cache: where it is, that a second run finds what the first has kept, that two runs at once may share it, and that
# without a usable place everything works as before. Needs BL_PROGRAM.
set -u
program=${BL_PROGRAM:?}
scene=${BL_SOURCE_DIR:?}/assets/cornell/scene.xml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset BL_CACHE_DIR XDG_CACHE_HOME
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
render() { "$program" render "$scene" -D resolution=8 --spp 1 --quiet -o "$@" 2>err || complain "render -o $*: $(cat err)"; }
cache() { "$program" devices --json | "${BL_PYTHON:-python3}" -c "import json, sys; c = json.load(sys.stdin)['cache']; print($1)"; }
entries() { find "$1" -name '*.kernel' 2>/dev/null | wc -l; }

"$program" ir "$scene" --pass primal --no-cache >/dev/null 2>err || { grep -q 'no device' err && exit 77; }

# ---- the place ----

HOME=$folder/home render a.pfm
# One entry is the kernel's words; drivers that keep data of pipelines have others. CPU drivers keep none.
kept=$(entries home/.cache/backlight/kernels)
case $BL_DEVICE in swiftshader | native | lavapipe) least=1 most=1 ;; *) least=1 most=9 ;; esac
[ "$kept" -ge $least ] && [ "$kept" -le $most ] || complain "$kept entries below HOME"
HOME=$folder/home XDG_CACHE_HOME=$folder/xdg render b.pfm
[ "$(entries xdg/backlight/kernels)" = "$kept" ] || complain "other entries below XDG_CACHE_HOME"
(unset MESA_SHADER_CACHE_DISABLE && HOME=$folder/none render b.pfm --no-cache)
[ ! -e none ] || complain "--no-cache left $(find none -type f)"
[ "$BL_DEVICE" = lavapipe ] && [ "$failures" = 0 ] && exit 0 # the rest is the same there, but slow

export HOME=$folder/nobody BL_CACHE_DIR=$folder/own
render c.pfm
[ "$(entries own/kernels)" = "$kept" ] || complain "other entries below BL_CACHE_DIR"
[ ! -e nobody ] || complain "something was kept in HOME besides"
[ "$(cache 'c["folder"]')" = "$folder/own/kernels" ] || complain "devices does not say where the cache is"
[ "$(cache 'c["entries"]')" = "$kept" ] || complain "devices does not count the entries"
"$program" devices | grep -q "^kernel cache: .*/own/kernels, $kept entries" || complain "devices prints no cache"

# ---- hits ----

bench() { "$program" bench "$scene" -D resolution=8 --spp 2 --rounds 1 --param red.reflectance.value --json --quiet "$@" 2>err |
    "${BL_PYTHON:-python3}" -c 'import json, sys; b = json.load(sys.stdin); print(b["cache_hits"], b["cache_misses"])'; }
first=$(bench)
set -- $first
[ "${2:-0}" -gt 1 ] || complain "the first bench compiled nothing: $first $(cat err)"
all=$((${1:-0} + ${2:-0}))
[ "$(bench)" = "$all 0" ] || complain "the second bench compiled something"
[ "$(bench --no-cache)" = "0 0" ] || complain "--no-cache used the cache"

# ---- the same bytes, whatever becomes of the cache ----

for file in own/kernels/*.kernel; do echo nonsense >"$file"; done
render d.pfm
rm -rf own
render e.pfm --no-cache
[ ! -e own ] || complain "--no-cache kept something"
render f.pfm & render g.pfm & render h.pfm & wait
echo "a file" >blocked
BL_CACHE_DIR=$folder/blocked render i.pfm
(unset HOME BL_CACHE_DIR && render j.pfm)
for file in b c d e f g h i j; do
    cmp -s a.pfm $file.pfm || complain "$file.pfm differs"
done
[ "$(cache 'c["entries"]')" = "$kept" ] || complain "three runs at once left other entries than one run"
(unset HOME BL_CACHE_DIR && [ "$(cache c)" = None ]) || complain "a cache without a place"

[ "$failures" = 0 ]
