/* SPDX-License-Identifier: BSD-3-Clause
 * Drivers: a VkInstance through the Vulkan loader, or one through SwiftShader opened directly. The loader is
 * opened at run time as well, because a machine without it can still run SwiftShader. */
#include "gpu/vulkan/vulkan.h"

#include <dlfcn.h>
#include <string.h>

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"
#define API_VERSION VK_API_VERSION_1_3

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity;
    (void)types;
    gpu *g = user;
    __atomic_add_fetch(&g->messages, 1, __ATOMIC_RELAXED);
    gpu_log(g, "validation: %s", data->pMessage);
    return VK_FALSE;
}

/* The general type is left out: there the loader reports manifests of drivers that have nothing to do with
 * us. */
static VkDebugUtilsMessengerCreateInfoEXT messenger_info(gpu *g)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = g,
    };
}

static bool has_validation_layer(PFN_vkGetInstanceProcAddr get)
{
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)get(NULL, "vkEnumerateInstanceLayerProperties");
    uint32_t count = 0;
    if (!enumerate || enumerate(&count, NULL) != VK_SUCCESS)
        return false;
    ARRAY(VkLayerProperties) layers = {0};
    array_reserve(&layers, count);
    bool found = false;
    if (enumerate(&count, layers.data) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(layers.data[i].layerName, VALIDATION_LAYER) == 0;
    array_free(&layers);
    return found;
}

static VkResult call_create_instance(PFN_vkCreateInstance create, gpu *g, bool validation,
                                     VkInstance *instance)
{
    /* Synchronisation is checked too: a missing barrier is the mistake this folder can make most easily. */
    const VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkDebugUtilsMessengerCreateInfoEXT messenger =
        messenger_info(g); /* for creation and destruction themselves */
    const VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messenger,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &enabled,
    };
    const char *const layers[] = {VALIDATION_LAYER};
    const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                      VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "backlight",
        .pEngineName = "backlight",
        .apiVersion = API_VERSION,
    };
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
    if (validation) {
        info.pNext = &features;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = layers;
        info.enabledExtensionCount = 2;
        info.ppEnabledExtensionNames = extensions;
    }
    VkResult result = create(&info, NULL, instance);
    if (result != VK_SUCCESS)
        *instance = NULL;
    return result;
}

static bl_result attach_messenger(gpu *g, gpu_driver *driver, bl_error *err)
{
    VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(g);
    VkResult result = VK_ERROR_EXTENSION_NOT_PRESENT;
    if (driver->vk.CreateDebugUtilsMessengerEXT && driver->vk.DestroyDebugUtilsMessengerEXT)
        result = driver->vk.CreateDebugUtilsMessengerEXT(driver->instance, &info, NULL, &driver->messenger);
    if (result != VK_SUCCESS) {
        driver->messenger = VK_NULL_HANDLE;
        return error_set(err, BL_ERROR_UNSUPPORTED, "vkCreateDebugUtilsMessengerEXT failed: %s (%d)",
                         gpu_vk_result_name(result), (int)result);
    }
    driver->validated = true;
    return BL_OK;
}

/* Creates driver->instance through driver->get and fills in its functions. */
static bl_result create_instance(gpu *g, gpu_driver *driver, bool validation, bl_error *err)
{
    PFN_vkEnumerateInstanceVersion enumerate_version =
        (PFN_vkEnumerateInstanceVersion)driver->get(NULL, "vkEnumerateInstanceVersion");
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)driver->get(NULL, "vkCreateInstance");
    uint32_t version = 0;
    if (!create || !enumerate_version || enumerate_version(&version) != VK_SUCCESS ||
        version < VK_API_VERSION_1_2)
        return error_set(err, BL_ERROR_NO_DEVICE, "%s: older than Vulkan 1.2", driver->found);
    VkResult result = call_create_instance(create, g, validation, &driver->instance);
    if (result != VK_SUCCESS)
        return error_set(err, gpu_result_of(result), "%s: vkCreateInstance failed: %s (%d)", driver->found,
                         gpu_vk_result_name(result), (int)result);
    driver->api_version = API_VERSION;
    TRY(gpu_load_instance_table(driver->get, driver->instance, &driver->vk, err));
    return validation ? attach_messenger(g, driver, err) : BL_OK;
}

bl_result gpu_driver_open_loader(gpu *g, gpu_driver *driver, bool validation, bl_error *err)
{
    bl_result result;
    snprintf(driver->found, sizeof driver->found, "Vulkan loader");
    driver->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->library)
        return error_set(err, validation ? BL_ERROR_UNSUPPORTED : BL_ERROR_NO_DEVICE, "Vulkan loader: %s",
                         dlerror());
    driver->get = (PFN_vkGetInstanceProcAddr)dlsym(driver->library, "vkGetInstanceProcAddr");
    if (!driver->get)
        result = error_set(err, BL_ERROR_NO_DEVICE, "Vulkan loader: no vkGetInstanceProcAddr");
    else if (validation && !has_validation_layer(driver->get))
        result = error_set(err, BL_ERROR_UNSUPPORTED, "Vulkan loader: there is no " VALIDATION_LAYER);
    else
        result = create_instance(g, driver, validation, err);
    if (result != BL_OK)
        gpu_driver_close(driver);
    return result;
}

bl_result gpu_driver_open_swiftshader(gpu *g, gpu_driver *driver, const char *path, bl_error *err)
{
    TRY(gpu_swiftshader_open(path, &driver->library, &driver->get, driver->found, sizeof driver->found, err));
    bl_result result = create_instance(g, driver, false, err);
    if (result != BL_OK)
        gpu_driver_close(driver);
    return result;
}

void gpu_driver_close(gpu_driver *driver)
{
    if (driver->messenger)
        driver->vk.DestroyDebugUtilsMessengerEXT(driver->instance, driver->messenger, NULL);
    if (driver->instance && driver->vk.DestroyInstance)
        driver->vk.DestroyInstance(driver->instance, NULL);
    if (driver->library)
        dlclose(driver->library);
    *driver = (gpu_driver){0};
}
