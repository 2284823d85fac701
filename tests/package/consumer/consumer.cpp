// SPDX-License-Identifier: BSD-3-Clause
// The same as consumer.c, as C++17.
#include <backlight/backlight.h>
#include <backlight/backlight_ir.h>
#include <backlight/backlight_plugin.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

template <auto destroy> struct Destroy {
    template <typename T> void operator()(T *object) const { destroy(object); }
};
using Context = std::unique_ptr<bl_context, Destroy<bl_context_destroy>>;
using Device = std::unique_ptr<bl_device, Destroy<bl_device_destroy>>;
using Scene = std::unique_ptr<bl_scene, Destroy<bl_scene_destroy>>;
using Job = std::unique_ptr<bl_job, Destroy<bl_job_destroy>>;

template <typename Owner, typename Create> static bl_result make(Owner &owner, Create create)
{
    typename Owner::pointer made = nullptr;
    bl_result r = create(&made);
    owner.reset(made);
    return r;
}

static bl_result render(bl_context *ctx, const char *path, const char *output)
{
    Device device;
    Scene scene;
    Job job;
    bl_scene_info info = {};
    bl_render_desc desc = {};
    desc.spp = 4;
    desc.seed = 7;
    bl_result r = make(device, [&](auto **p) { return bl_device_create(ctx, std::getenv("BL_DEVICE"), p); });
    if (r == BL_OK)
        r = make(scene, [&](auto **p) { return bl_scene_load(ctx, path, nullptr, p); });
    if (r == BL_OK)
        r = make(job, [&](auto **p) { return bl_job_create(device.get(), scene.get(), nullptr, p); });
    if (r == BL_OK)
        r = bl_scene_info_get(scene.get(), &info);
    std::vector<float> image(std::size_t(info.width) * info.height * 3);
    if (r == BL_OK)
        r = bl_job_render(job.get(), &desc, image.data(), nullptr);
    return r == BL_OK ? bl_image_write(ctx, output, info.width, info.height, 3, image.data()) : r;
}

int main(int argc, char **argv)
{
    Context ctx;
    if (argc != 3 || make(ctx, [](auto **p) { return bl_context_create(nullptr, p); }) != BL_OK)
        return std::fprintf(stderr, "consumer SCENE.xml IMAGE.pfm\n"), 2;
    bl_result r = render(ctx.get(), argv[1], argv[2]);
    if (r != BL_OK)
        std::fprintf(stderr, "%s\n", bl_context_error(ctx.get()));
    bl_ir *ir = bl_ir_create(); // names of operations that are words of C++, too
    bl_ir_func *f = bl_ir_func_create(ir, "f");
    bl_ir_value yes = bl_ir_bool(f, true), both = bl_ir_and(f, yes, bl_ir_or(f, yes, bl_ir_not(f, yes)));
    bl_ir_destroy(ir);
    std::printf("version %s %u\n", bl_version_text(), bl_version());
    return r != BL_OK || both.id == 0 || bl_version() != BL_VERSION_NUMBER;
}
