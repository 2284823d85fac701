/* SPDX-License-Identifier: BSD-3-Clause
 * A Vulkan driver that is another one (OTHER_DEVICE_DRIVER, a library such as SwiftShader's) made to look
 * like devices that this machine does not have. BL_SWIFTSHADER names it, so that it is opened directly. What
 * differs is listed in OTHER_DEVICE, words between commas:
 *
 *   hidden       memory of the device that the host cannot see, and host memory
 *   discrete     its kind, name and driver are those of a discrete GPU
 *   budget       VK_EXT_memory_budget; OTHER_DEVICE_BUDGET bytes of the device's memory are free
 *   queues       three families: one for copies alone, graphics with compute, compute alone
 *   no_time      queues without timestamps
 *   odd_time     ticks of 52.08 ns, of which 36 bits count
 *   lost         the device is lost at submission number OTHER_DEVICE_LOST, for good
 *   robust       robustBufferAccess is switched on
 *   sloppy, fused, zeros   arithmetic that is worse, or better: sloppy_code.h
 *   count        says on standard error, when memory is given back for the last time, how often memory was
 *                asked for and how many pieces there were at most
 *
 * Calls that the specification forbids on such a device (mapping its hidden memory, a queue of a family that
 * was not asked for) end the program. */
#include "sloppy_code.h"

#include <vulkan/vulkan.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN, SHARED, TYPES, FAMILIES = 3, COMPUTE_FAMILY = 2, MEMORIES = 4096 };

static PFN_vkGetInstanceProcAddr next;
static VkInstance instance;
static PFN_vkGetDeviceProcAddr next_device;
static VkDeviceMemory hidden[MEMORIES]; /* memory of the type HIDDEN */
static uint32_t family_asked, submissions;
static uint32_t asked, held, held_most; /* pieces of memory */

static bool is(const char *word)
{
    const char *list = getenv("OTHER_DEVICE"), *at = list ? strstr(list, word) : NULL;
    size_t length = strlen(word);
    return at && (at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',');
}

static uint64_t number(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void forbid(bool wrong, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "other_device: %s\n", what);
    abort();
}

#define NEXT(name) ((PFN_vk##name)next(instance, "vk" #name))
#define NEXT_OF(device, name) ((PFN_vk##name)next_device(device, "vk" #name))

/* ---- what the device is ---- */

static void change_properties(VkPhysicalDeviceProperties *p)
{
    if (is("discrete")) {
        p->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
        snprintf(p->deviceName, sizeof p->deviceName, "Other device");
    }
    if (is("odd_time"))
        p->limits.timestampPeriod = 52.08f;
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice d, VkPhysicalDeviceProperties *p)
{
    NEXT(GetPhysicalDeviceProperties)(d, p);
    change_properties(p);
}

static VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2 *p)
{
    NEXT(GetPhysicalDeviceProperties2)(d, p);
    change_properties(&p->properties);
    for (VkBaseOutStructure *s = p->pNext; s && is("discrete"); s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
            ((VkPhysicalDeviceVulkan12Properties *)s)->driverID = VK_DRIVER_ID_MESA_RADV;
}

static VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice d, uint32_t *count,
                                               VkQueueFamilyProperties *families)
{
    static const VkQueueFlags flags[FAMILIES] = {
        VK_QUEUE_TRANSFER_BIT, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
        VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT};
    VkQueueFamilyProperties own;
    uint32_t one = 1, all = is("queues") ? FAMILIES : 1;
    NEXT(GetPhysicalDeviceQueueFamilyProperties)(d, &one, &own);
    own.timestampValidBits = is("no_time") ? 0 : is("odd_time") ? 36 : own.timestampValidBits;
    if (!families) {
        *count = all;
        return;
    }
    *count = *count < all ? *count : all;
    for (uint32_t i = 0; i < *count; i++) {
        families[i] = own;
        families[i].queueFlags = is("queues") ? flags[i] : own.queueFlags;
    }
}

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties *m)
{
    NEXT(GetPhysicalDeviceMemoryProperties)(d, m);
    if (!is("hidden"))
        return;
    m->memoryTypeCount = TYPES, m->memoryHeapCount = TYPES;
    m->memoryTypes[HIDDEN] = (VkMemoryType){VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, HIDDEN};
    m->memoryTypes[SHARED] =
        (VkMemoryType){VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                           VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                       SHARED};
    m->memoryHeaps[SHARED] = m->memoryHeaps[HIDDEN];
    m->memoryHeaps[SHARED].flags = 0;
}

static VKAPI_ATTR void VKAPI_CALL get_memory2(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties2 *m)
{
    get_memory(d, &m->memoryProperties);
    for (VkBaseOutStructure *s = m->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) {
            VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget = (void *)s;
            for (uint32_t i = 0; i < m->memoryProperties.memoryHeapCount; i++)
                budget->heapBudget[i] =
                    is("budget") && i == HIDDEN ? number("OTHER_DEVICE_BUDGET") : UINT64_MAX,
                budget->heapUsage[i] = 0;
        }
}

static VKAPI_ATTR VkResult VKAPI_CALL get_extensions(VkPhysicalDevice d, const char *layer, uint32_t *count,
                                                     VkExtensionProperties *list)
{
    uint32_t room = *count;
    VkResult result = NEXT(EnumerateDeviceExtensionProperties)(d, layer, count, list);
    if (!is("budget") || result < 0)
        return result;
    if (list && *count < room)
        list[*count] = (VkExtensionProperties){VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, 1};
    ++*count;
    return result;
}

/* ---- what the device does ---- */

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice d, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    const char *names[64];
    VkDeviceCreateInfo own = *info;
    VkDeviceQueueCreateInfo queue = info->pQueueCreateInfos[0];
    own.ppEnabledExtensionNames = names, own.enabledExtensionCount = 0, own.pQueueCreateInfos = &queue;
    for (uint32_t i = 0; i < info->enabledExtensionCount && i < 64; i++)
        if (!is("budget") ||
            strcmp(info->ppEnabledExtensionNames[i], VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) != 0)
            names[own.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    family_asked = queue.queueFamilyIndex;
    forbid(is("queues") && family_asked != COMPUTE_FAMILY,
           "not the queue that computes and does nothing else");
    queue.queueFamilyIndex = 0;
    for (VkBaseOutStructure *s = (void *)(uintptr_t)own.pNext; s && is("robust"); s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            ((VkPhysicalDeviceFeatures2 *)s)->features.robustBufferAccess = VK_TRUE;
    return NEXT(CreateDevice)(d, &own, callbacks, out);
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice d, uint32_t family, uint32_t index, VkQueue *out)
{
    forbid(family != family_asked, "a queue of a family that was not asked for");
    NEXT_OF(d, GetDeviceQueue)(d, 0, index, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice d, const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *callbacks, VkCommandPool *out)
{
    VkCommandPoolCreateInfo own = *info;
    forbid(own.queueFamilyIndex != family_asked, "a command pool of another family than the queue's");
    own.queueFamilyIndex = 0;
    return NEXT_OF(d, CreateCommandPool)(d, &own, callbacks, out);
}

static VKAPI_ATTR void VKAPI_CALL get_requirements(VkDevice d, VkBuffer b, VkMemoryRequirements *r)
{
    NEXT_OF(d, GetBufferMemoryRequirements)(d, b, r);
    r->memoryTypeBits = is("hidden") ? (1 << TYPES) - 1 : r->memoryTypeBits;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice d, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    VkMemoryAllocateInfo own = *info;
    own.memoryTypeIndex = is("hidden") ? 0 : info->memoryTypeIndex;
    VkResult result = NEXT_OF(d, AllocateMemory)(d, &own, callbacks, out);
    asked++;
    held += result == VK_SUCCESS;
    held_most = held > held_most ? held : held_most;
    for (uint32_t i = 0; result == VK_SUCCESS && is("hidden") && info->memoryTypeIndex == HIDDEN; i++) {
        forbid(i == MEMORIES, "more allocations than devices have");
        if (!hidden[i]) {
            hidden[i] = *out;
            break;
        }
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice d, VkDeviceMemory m,
                                              const VkAllocationCallbacks *callbacks)
{
    for (uint32_t i = 0; m && i < MEMORIES; i++)
        if (hidden[i] == m)
            hidden[i] = VK_NULL_HANDLE;
    NEXT_OF(d, FreeMemory)(d, m, callbacks);
    held -= m != VK_NULL_HANDLE;
    if (m && held == 0 && is("count"))
        fprintf(stderr, "memory was asked for %u times, %u pieces at most\n", asked, held_most);
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice d, VkDeviceMemory m, VkDeviceSize offset,
                                          VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    for (uint32_t i = 0; i < MEMORIES; i++)
        forbid(hidden[i] && hidden[i] == m, "memory is mapped that the host cannot see");
    return NEXT_OF(d, MapMemory)(d, m, offset, size, flags, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice d, const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkShaderModule *out)
{
    const sloppy_rules rules = {.sloppy = is("sloppy"), .fused = is("fused"), .zeros = is("zeros")};
    VkShaderModuleCreateInfo own = *info;
    size_t count;
    uint32_t *words = sloppy_code(info->pCode, info->codeSize / 4, rules, &count);
    own.pCode = words, own.codeSize = 4 * count;
    VkResult result = NEXT_OF(d, CreateShaderModule)(d, &own, callbacks, out);
    free(words);
    return result;
}

static VkDevice submits_to; /* there is one device a process */

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue q, uint32_t count, const VkSubmitInfo *infos,
                                             VkFence fence)
{
    if (is("lost") && ++submissions >= number("OTHER_DEVICE_LOST"))
        return VK_ERROR_DEVICE_LOST;
    return NEXT_OF(submits_to, QueueSubmit)(q, count, infos, fence);
}

/* ---- the functions by name ---- */

static PFN_vkVoidFunction own_device(const char *name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice d, const char *name)
{
    PFN_vkVoidFunction own = own_device(name);
    submits_to = d;
    return own ? own : next_device(d, name);
}

static PFN_vkVoidFunction own_device(const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } all[] = {
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_function},
        {"vkGetDeviceQueue", (PFN_vkVoidFunction)get_queue},
        {"vkCreateCommandPool", (PFN_vkVoidFunction)create_pool},
        {"vkGetBufferMemoryRequirements", (PFN_vkVoidFunction)get_requirements},
        {"vkAllocateMemory", (PFN_vkVoidFunction)allocate},
        {"vkFreeMemory", (PFN_vkVoidFunction)free_memory},
        {"vkMapMemory", (PFN_vkVoidFunction)map},
        {"vkCreateShaderModule", (PFN_vkVoidFunction)create_module},
        {"vkQueueSubmit", (PFN_vkVoidFunction)submit},
        {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)get_properties},
        {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)get_properties2},
        {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)get_families},
        {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)get_memory},
        {"vkGetPhysicalDeviceMemoryProperties2", (PFN_vkVoidFunction)get_memory2},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)get_extensions},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].function;
    return NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance i, const char *name);
VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance i, const char *name)
{
    PFN_vkVoidFunction own = own_device(name);
    if (i) {
        instance = i;
        next_device = (PFN_vkGetDeviceProcAddr)next(i, "vkGetDeviceProcAddr");
    }
    return own ? own : next(i, name);
}

VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    const char *path = getenv("OTHER_DEVICE_DRIVER");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "other_device: OTHER_DEVICE_DRIVER: %s\n", path ? dlerror() : "names no driver");
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    next = (PFN_vkGetInstanceProcAddr)dlsym(library, "vk_icdGetInstanceProcAddr");
    PFN_vkVoidFunction found = (PFN_vkVoidFunction)dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
    return found ? ((VkResult(VKAPI_PTR *)(uint32_t *))found)(version) : VK_SUCCESS;
}
