#!/usr/bin/env bash
# LABELS: lavapipe
# SPDX-License-Identifier: BSD-3-Clause
# The sample that is a Vulkan application, under the validation layer with its checks of synchronisation: not a
# word.
set -eu
sample=$BL_BUILD_DIR/samples/sample_08_embed_headless
layer=${VK_LAYER_PATH:-/usr/share/vulkan/explicit_layer.d}/VkLayer_khronos_validation.json
for needed in "$sample" "$layer"; do
    [ -e "$needed" ] || { echo "skipped: $needed is missing"; exit 77; }
done
export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_VALIDATE_SYNC=1
export VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1 # else what shaders access is not checked
VK_LOADER_DEBUG=layer "$sample" >sample_validated.log 2>&1 || { cat sample_validated.log; exit 1; }
grep -q "Insert instance layer.*VK_LAYER_KHRONOS_validation" sample_validated.log ||
    { echo "the layer was not loaded"; cat sample_validated.log; exit 1; }
if grep -nE "Validation|VUID|SYNC-HAZARD" sample_validated.log | grep -v "LAYER:"; then
    exit 1
fi
