# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
#
# The program's command line without a device: help, exit statuses, and one clear message for each kind of bad input, with nothing
# left behind. Needs BL_PROGRAM; cases whose message depends on a device accept any of its failures.
set -u
program=${BL_PROGRAM:?}
source_dir=${BL_SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
scene=$source_dir/assets/cornell/scene.xml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset BL_DEVICE BL_RAY_BACKEND
failures=0

complain() {
    echo "FAILED: $1" >&2
    sed 's/^/    /' "$folder/.err" >&2
    failures=$((failures + 1))
}

# expect STATUS PATTERN ARGUMENTS...: exit status, a pattern (grep -E) in standard error, no crash, and no new file
expect() {
    status=$1 pattern=$2
    shift 2
    before=$(ls -1)
    "$program" "$@" >.out 2>.err
    got=$?
    [ "$got" = "$status" ] || complain "$* ended with $got, not $status"
    grep -qE -- "$pattern" .err || complain "$*: nothing like '$pattern' on standard error"
    grep -qE 'Sanitizer|runtime error|Assertion|assertion' .err && complain "$* crashed"
    [ "$before" = "$(ls -1)" ] || complain "$* left something behind: $(ls -1 | tr '\n' ' ')"
}

# ---- help ----

commands="devices render params grad check import fit design bench ir compile plugins"
"$program" --help >.out 2>.err || complain "--help"
for command in $commands; do
    grep -q "^  $command " .out || complain "--help does not list $command"
done
for command in $commands; do
    for help in "$command --help" "$command -h" "help $command"; do
        # shellcheck disable=SC2086 # two words
        "$program" $help >.help 2>.err || complain "$help"
        grep -q "^usage: backlight $command" .help || complain "$help has no usage"
        grep -q '^example:' .help || complain "$help has no example"
        grep -q -- '--quiet' .help || complain "$help has no common options"
        [ "$(COLUMNS=100 "$program" $help | wc -l)" -le 40 ] || complain "$help is longer than 40 lines"
        [ "$(COLUMNS=100 "$program" $help | wc -L)" -le 100 ] || complain "$help is wider than 100 columns"
    done
done
"$program" params "$source_dir/assets/shapes/head.xml" >.help
[ "$(wc -L <.help)" -le 100 ] || complain "params is wider than 100 columns"
grep -q '^head.vertex_normals .*in part \[1\]$' .help || complain "params has no footnotes"
"$program" params --help | grep -q -- '--spp' && complain "params --help has options that it does not use"
"$program" help options | grep -q -- '--spp-grad N  *samples per pixel of gradient passes' || complain "help options"
for command in "" $commands; do
    # shellcheck disable=SC2086 # none or one word
    "$program" help man $command >.help || complain "help man $command"
    grep -q '^\.TH' .help || complain "help man $command is no manual page"
    if command -v man >/dev/null; then
        man --warnings -l .help 2>.err >/dev/null
        [ -s .err ] && complain "help man $command has mistakes"
    fi
done
for shell in bash zsh fish; do
    "$program" help $shell >.help || complain "help $shell"
    grep -q 'volume-gradient' .help || complain "help $shell completes no options"
    if command -v $shell >/dev/null; then $shell -n .help 2>.err || complain "help $shell is no script"; fi
done
"$program" help bash >.help
completed=$(bash -c '. ./.help; COMP_WORDS=(backlight grad --form ""); COMP_CWORD=3; _backlight; echo "${COMPREPLY[*]}"')
[ "$completed" = 'auto fused separate two-walk one-image' ] || complain "bash completes --form with '$completed'"
"$program" plugins emitter >.help
grep -q '^  envmap ' .help && ! grep -q '^  diffuse ' .help || complain "plugins emitter lists other kinds, too"
rm -f .help
"$program" --version | grep -q '^backlight [0-9]' || complain "--version"

# ---- a link that somebody planted under the name of a temporary file is not followed ----

echo precious >victim
# shellcheck disable=SC2016 # $$ is the inner shell's, whose process the program becomes
sh -c 'ln -s victim "a.exr.tmp-$$"; exec "$0" render "$1" -o a.exr --device none >.out 2>.err' "$program" "$scene"
[ "$(cat victim)" = precious ] || complain "render wrote through a planted link"
rm -f victim ./*.tmp-*

# ---- what is no ordinary file is not replaced by one ----

mkfifo pipe.exr
expect 1 'cannot write pipe.exr: it is no ordinary file' render "$scene" -o pipe.exr --device none
[ -p pipe.exr ] || complain "render replaced a pipe"
rm -f pipe.exr

# ---- wrong usage: status 2 ----

expect 2 'usage: backlight'
expect 2 "no command 'rendr' \(did you mean 'render'" rendr
expect 2 'SCENE is missing' bench
expect 2 'SCENE is missing' render -o a.exr
expect 2 '-o FILE is missing' render "$scene"
expect 2 '--output needs a value' render "$scene" -o
expect 2 'did you mean --spp' render "$scene" -o a.exr --sppp 4
expect 2 "'many' is not a whole number" render "$scene" -o a.exr --spp many
expect 2 "'0' is not a whole number" render "$scene" -o a.exr --spp=0
expect 2 "'-1' is not a whole number" render "$scene" -o a.exr --seed -1
expect 2 "is not a whole number" render "$scene" -o a.exr --max-depth 0
expect 2 "'x' is not KEY=VALUE" render "$scene" -o a.exr -D x
expect 2 "is not one of bvh\|query" render "$scene" -o a.exr --ray-backend embree
expect 2 '.exr, .pfm, .hdr, .png or .jpg' render "$scene" -o a.tiff
expect 2 "unexpected argument" render "$scene" other.xml -o a.exr
expect 2 '--quiet takes no value' render "$scene" -o a.exr --quiet=yes
expect 2 'either --adjoint .* or --target' grad "$scene" --param red.reflectance.value -o g
expect 2 "'l3' is not one of l2\|l1\|relative_l2\|huber" grad "$scene" --param a --target t.exr --loss l3 -o g
expect 2 'either --adjoint .* or --target' grad "$scene" --param a --adjoint w.exr --target t.exr -o g
expect 2 '--param NAME is missing' grad "$scene" --adjoint w.exr -o g
expect 2 '-o DIR is missing' grad "$scene" --param a --adjoint w.exr
expect 2 'does not go with' grad "$scene" --forward red.reflectance.value --adjoint w.exr -o g
expect 2 'does not go with' grad "$scene" --forward red.reflectance.value --pixels adjoint -o g
expect 2 'uniform, adjoint|uniform.adjoint' grad "$scene" --param red.reflectance.value --adjoint w.exr --pixels all -o g
expect 2 '--tangent needs --forward' grad "$scene" --param red.reflectance.value --adjoint w.exr --tangent t.npy -o g
expect 2 'give one for each' grad "$scene" --forward red.reflectance.value green.reflectance.value --tangent t.npy -o g
expect 2 "'x' is not a number" grad "$scene" --forward red.reflectance.value=x -o g
expect 2 'so does --tangent' grad "$scene" --forward red.reflectance.value=2 --tangent t.npy -o g
expect 2 '-o DIR is missing' grad "$scene" --forward red.reflectance.value
expect 2 'at least 2' check "$scene" --param red.reflectance.value --seeds 1
expect 2 'INPUT is missing' import -o a.json
expect 2 '-o FILE is missing' import .
expect 2 'ends in .json' import . -o a.xml
expect 2 '6 numbers, not 2' import . -o a.json --bounds -1 2
expect 2 "'x' is not a number" import . -o a.json --bounds x
expect 2 'is not one of 0\|1\|2' import . -o a.json --sh-degree 3
expect 2 'SCENE.JOB is missing' compile
expect 2 "no pass 'nosuch'" compile "$scene" --pass nosuch
expect 1 "no device matches .nosuch." compile "$scene" --param red.reflectance.valu --device nosuch
expect 2 '--pass PASS is missing' ir "$scene"
expect 2 'is not one of primal.*tables.*geometry' ir "$scene" --pass nosuch

# ---- failed work: status 1 ----

BL_NATIVE=off expect 1 "no device matches 'native'.*\(native: " ir "$scene" --pass primal --native

expect 1 'near|did you mean|red.reflectance.value' grad "$scene" --forward red.reflectance.valu -o g
expect 1 'no parameter "red.reflectance.valu"' grad "$scene" --forward red.reflectance.valu nosuch -o g
expect 1 'no parameter "nosuch"' grad "$scene" --forward red.reflectance.valu nosuch -o g
expect 1 'the nearest is "light.emitter.radiance.value"' grad "$scene" --forward light.radiance -o g
expect 1 '"rad.\*" matches no parameter that has a gradient' grad "$scene" --param 'rad.*' --adjoint w.exr -o g
expect 2 'belongs to one parameter' check "$scene" --param '*.reflectance.*' --direction x.npy
expect 1 'nosuch.npy' grad "$scene" --forward red.reflectance.value --tangent nosuch.npy -o g
expect 1 'named twice' grad "$scene" --forward red.reflectance.value red.reflectance.value=2 -o g
expect 1 'has no ray queries|no device matches' render "$scene" -o a.exr --device swiftshader --ray-backend query
export BL_RAY_BACKEND=embree
expect 2 "BL_RAY_BACKEND: 'embree' is not one of bvh\|query" render "$scene" -o a.exr
unset BL_RAY_BACKEND
expect 1 'nosuch has neither transforms_train.json nor transforms.json' import nosuch -o a.json
expect 1 'nosuch.xml' render nosuch.xml -o a.exr
expect 1 'cannot write .*/nosuch/a.exr' render "$scene" -o "$folder/nosuch/a.exr"
expect 1 'nosuch' render "$scene" -o a.exr --device nosuch
expect 1 'red.reflectance.value' grad "$scene" --param red.reflectance.valu --adjoint w.exr -o g # near names
expect 1 'w.exr' grad "$scene" --param red.reflectance.value --adjoint w.exr -o g
expect 1 'named twice' grad "$scene" --param red.reflectance.value red.reflectance.value --adjoint w.exr -o g

# ---- scenes: file, place and what ----

# scene_with TEXT: a scene whose only unusual part is TEXT
scene_with() {
    printf '<scene version="3.0.0">\n<integrator type="path"/>\n<sensor type="perspective"/>\n%s\n</scene>\n' "$1" >bad.xml
}
# bad_scene PATTERN TEXT
bad_scene() {
    scene_with "$2"
    expect 1 "bad.xml.*($1)|($1).*bad.xml" params bad.xml
}
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n' >beyond.obj
printf 'v 0 0 0\nv 1 0\n' >truncated.obj
printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' >truncated.png
printf 'v\x2f1\x01\x02' >truncated.exr
printf 'PF\n2 2\n-1.0\n\0\0\xc0\x7f' >truncated.pfm
{ printf 'PF\n2 2\n-1.0\n' && printf '\0\0\xc0\x7f%.0s' 1 2 3 4 5 6 7 8 9 10 11 12; } >nan.pfm # whole, and all NaN
textured='<shape type="rectangle"><bsdf type="diffuse"><texture type="bitmap" name="reflectance"><string name="filename" value="%s"/></texture></bsdf></shape>'

scene_with ''
"$program" params "$scene" --integrator ptracer 2>/dev/null | tr '\n' ' ' | grep -qE 'sensor.to_world +4x4 +any +no \[([0-9]+)\].*\[\1\] [a-z]' || complain "params does not say what has no gradient with ptracer"
"$program" params bad.xml >.out 2>.err || complain "the frame of the bad scenes is itself bad"
bad_scene 'shape.*nosuch|nosuch' '<shape type="nosuch"/>'
bad_scene 'nosuch' '<shape type="rectangle"><float name="nosuch" value="1"/></shape>'
bad_scene 'radius' '<shape type="sphere"><float name="radius" value="1x"/></shape>'
bad_scene 'nosuch.obj' '<shape type="obj"><string name="filename" value="nosuch.obj"/></shape>'
bad_scene 'beyond.obj' '<shape type="obj"><string name="filename" value="beyond.obj"/></shape>'
bad_scene 'truncated.obj' '<shape type="obj"><string name="filename" value="truncated.obj"/></shape>'
for file in nan.pfm truncated.png truncated.exr truncated.pfm nosuch.png; do
    # shellcheck disable=SC2059 # the format is ours
    bad_scene "$file" "$(printf "$textured" "$file")"
done
bad_scene 'nosuch' '<ref id="nosuch"/>'
bad_scene ':5' '<shape type="rectangle">' # never closed
expect 1 'unused_variable' params "$scene" -D unused_variable=1
printf '<scene version="3.0.0"><sensor type="perspective"><film type="hdrfilm"><integer name="width" value="2000000000"/><integer name="height" value="2000000000"/></film></sensor></scene>' >bad.xml
expect 1 'bad.xml|width|height|resolution|pixels' params bad.xml
: >bad.xml
expect 1 'bad.xml' params bad.xml

# ---- fit jobs: file, path of the key (fit_schema.py has the whole table) ----

# bad_job PATTERN JSON
bad_job() {
    printf '%s' "$2" >job.json
    expect 1 "job.json.*$1" fit job.json -o out
}
good='"scene": "s.xml", "target": "t.exr", "steps": 3, "parameters": [{"name": "a"}]'
expect 1 'nosuch.json' fit nosuch.json -o out
bad_job ':1:9: not valid JSON' '{"scene"'
bad_job 'is a JSON object' '[]'
bad_job 'scene: missing key' '{}'
bad_job 'stepz: unknown key \(did you mean "steps"' "{$good, \"stepz\": 3}"
bad_job 'steps: given twice' "{$good, \"steps\": 3}"
bad_job 'spp: must be a whole number above 0' "{$good, \"spp\": 0}"
bad_job 'seed: must be a whole number' "{$good, \"seed\": -1}"
bad_job 'loss: unknown loss "l3"' "{$good, \"loss\": \"l3\"}"
bad_job 'optimizer.type: unknown optimizer "adamw"' "{$good, \"optimizer\": {\"type\": \"adamw\"}}"
bad_job 'optimizer.beta_1: must be a number above 0 and below 1' "{$good, \"optimizer\": {\"type\": \"adam\", \"beta_1\": 1}}"
bad_job 'optimizer.rte: unknown key \(did you mean "rate"' "{$good, \"optimizer\": {\"type\": \"adam\", \"rte\": 1}}"
head='"scene": "s.xml", "target": "t.exr", "steps": 3'
bad_job 'parameters: must be a list' "{$head, \"parameters\": []}"
bad_job 'parameters\[1\].name: missing key' "{$head, \"parameters\": [{\"name\": \"a\"}, {}]}"
bad_job 'parameters\[0\].bounds: must be two numbers' "{$head, \"parameters\": [{\"name\": \"a\", \"bounds\": [1, 0]}]}"
bad_job 'parameters\[0\].initial: must be a number' "{$head, \"parameters\": [{\"name\": \"a\", \"initial\": [\"x\"]}]}"
bad_job 'target.render: must be true' '{"scene": "s.xml", "target": {"render": false}, "steps": 3, "parameters": [{"name": "a"}]}'
printf '{%s}' "$good" >job.json
expect 1 's.xml' fit job.json -o out
expect 2 '-o DIR is missing' fit job.json

# ---- all mistakes of a job at once; suggestions; errors for programs; scenes that stay black ----

printf '{%s, "spp": "x", "stepz": 3, "form": "oval"}' "$good" >job.json
expect 1 'spp: must be' fit job.json -o out
grep -q 'stepz: unknown key' .err && grep -q 'form: unknown form' .err || complain "fit says the first mistake of a job alone"
expect 1 'does not use the parameter "resolutoin".*did you mean "resolution"' params "$scene" -D resolutoin=8
for unit in 35cm 35in 35mmm '35 mm'; do
    bad_scene 'length in millimetres' "<sensor type='perspective'><string name='focal_length' value='$unit'/></sensor>"
done
expect 1 'no folder "nodir"' params "$scene" --untrusted --root nodir
expect 1 '"aov" has another one inside' params "$scene" --integrator aov
expect 1 '"pahts" is not implemented, did you mean "path"' params "$scene" --integrator pahts
expect 1 'there is no plugin "emiter"; did you mean "emitter"' plugins emiter
expect 1 'no device matches' devices --device nosuch
"$program" render nosuch.xml -o a.exr --json >.out 2>/dev/null
grep -q '"error":.*nosuch.xml' .out && grep -q '"status":.*1' .out || complain "an error with --json is not JSON"
"$program" render --json >.out 2>/dev/null
grep -q '"status":.*2' .out || complain "wrong usage with --json is not JSON"
scene_with '<shape type="sphere"/>'
"$program" params bad.xml 2>&1 >/dev/null | grep -q 'bad.xml:1: the scene has no light' || complain "a scene without light is silent"
"$program" params bad.xml --integrator depth 2>&1 >/dev/null | grep -q 'no light' && complain "depth needs no light"

if [ "$failures" -gt 0 ]; then
    echo "$failures failures" >&2
    exit 1
fi
echo "all good"
