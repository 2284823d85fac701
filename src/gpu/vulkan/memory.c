/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers. Each has an allocation of its own, because there are few of them (a few bindings per scene and
 * job).
 *
 * GPU_DEVICE memory is also host-visible where the device shares its memory with the host (CPU drivers,
 * integrated GPUs): then copies are plain memory copies. Elsewhere they go through one staging buffer per
 * device, in pieces. On a device of the caller's all of it may come from an allocator of the caller's. */
#include "gpu/vulkan/vulkan.h"

#include <stdlib.h>
#include <string.h>

enum { STAGING_SIZE = 8 << 20, BUDGET_LEAST = 1 << 20 /* bytes; what is smaller is not asked about */ };

/* The allowed memory type that has all `required` and most of the `preferred` flags; -1: no type has the
 * required ones. Among equals it is the first, because the specification orders types by performance. */
static int choose_type(const vulkan_device *d, uint32_t allowed, VkMemoryPropertyFlags required,
                       VkMemoryPropertyFlags preferred)
{
    int best = -1, best_score = -1;
    for (uint32_t i = 0; i < d->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = d->memory.memoryTypes[i].propertyFlags;
        /* Protected and lazily allocated memory is of no use; AMD's device-coherent memory is slow and needs
         * a feature. */
        VkMemoryPropertyFlags unwanted =
            VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
            VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
        if (!(allowed >> i & 1) || (flags & required) != required || (flags & unwanted))
            continue;
        int score = __builtin_popcount(flags & preferred);
        if (score > best_score) {
            best = (int)i;
            best_score = score;
        }
    }
    return best;
}

static int memory_type_for(const vulkan_device *d, gpu_memory where, uint32_t allowed)
{
    const VkMemoryPropertyFlags shared =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    if (where == GPU_HOST)
        return choose_type(d, allowed, shared, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    VkPhysicalDeviceType type = d->candidate->type;
    if (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU) {
        /* Cached as well, or not mapped at all: reading uncached memory from the host is slower than
         * staging. */
        int both = choose_type(d, allowed, local | shared | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0);
        if (both >= 0)
            return both;
    }
    int type_index = choose_type(d, allowed, local, 0);
    return type_index >= 0 ? type_index : choose_type(d, allowed, 0, 0);
}

/* Takes memory from the caller's allocator. */
static bl_result borrow(vulkan_buffer *b, const VkMemoryRequirements *needs, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->head.device);
    bl_vulkan_memory lent = {0};
    const bl_vulkan_memory_needs wish = {
        .requirements = *needs,
        .memory_type = b->memory_type,
        .flags = d->candidate->head.info.buffer_address ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0,
        .label = b->head.label};
    VkResult result = d->adopted->allocate(d->adopted->user, &wish, &lent);
    if (result == VK_SUCCESS && (!lent.memory || lent.offset % needs->alignment)) {
        d->adopted->free(d->adopted->user, &lent);
        return error_set(err, BL_ERROR_ARGUMENT,
                         "allocate_memory gave %s at offset %llu for buffer '%s', which is aligned to %llu",
                         lent.memory ? "memory" : "no memory", (unsigned long long)lent.offset, b->head.label,
                         (unsigned long long)needs->alignment);
    }
    if (result != VK_SUCCESS)
        return error_set(
            err, gpu_result_of(result), "allocate_memory of %llu bytes for buffer '%s' failed: %s (%d)",
            (unsigned long long)needs->size, b->head.label, gpu_vk_result_name(result), (int)result);
    b->lent = lent;
    return BL_OK;
}

static bl_result allocate_own(vulkan_buffer *b, const VkMemoryRequirements *needs, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->head.device);
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = b->handle};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = d->adopted && d->adopted->dedicated ? &dedicated : NULL,
        .handleTypes = d->adopted ? (VkExternalMemoryHandleTypeFlags)d->adopted->exports : 0};
    const void *chain = exported.handleTypes ? &exported : NULL;
    flags.pNext = chain;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = d->candidate->head.info.buffer_address ? &flags : chain,
                                 .allocationSize = needs->size,
                                 .memoryTypeIndex = b->memory_type};
    VkResult allocated = d->vk.vkAllocateMemory(d->handle, &info, d->allocator, &b->memory);
    if (allocated == VK_SUCCESS)
        return BL_OK;
    b->memory = VK_NULL_HANDLE;
    return error_set(
        err, gpu_result_of(allocated), "vkAllocateMemory of %llu bytes for buffer '%s' failed: %s (%d)",
        (unsigned long long)needs->size, b->head.label, gpu_vk_result_name(allocated), (int)allocated);
}

/* What the system leaves to this process of the heap that the buffer's memory comes from, as the driver says
 * now (VK_EXT_memory_budget, which is asked of the physical device and need not be enabled): beyond it a
 * driver fails, or moves memory to the host, which is slow. */
static bl_result keep_system_budget(const vulkan_device *d, const vulkan_buffer *b, uint64_t size,
                                    bl_error *err)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT now = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &now};
    if (!d->candidate->extensions.memory_budget || size < BUDGET_LEAST)
        return BL_OK;
    d->candidate->driver->vk.GetPhysicalDeviceMemoryProperties2(d->candidate->physical, &memory);
    uint32_t heap = d->memory.memoryTypes[b->memory_type].heapIndex;
    uint64_t budget = now.heapBudget[heap], used = now.heapUsage[heap];
    if (used <= budget && size <= budget - used)
        return BL_OK;
    return error_set(err, BL_ERROR_DEVICE_MEMORY,
                     "buffer '%s' needs %.0f MiB; of the %.0f MiB that the system leaves to this process on "
                     "%s, %.0f MiB are in use: close other programs, or take a smaller film or scene",
                     b->head.label, (double)size / 1048576, (double)budget / 1048576,
                     d->candidate->head.info.name, (double)used / 1048576);
}

static bl_result keep_budget(const vulkan_device *d, const char *label, uint64_t size, bl_error *err)
{
    uint64_t budget = d->adopted ? d->adopted->budget : 0, held = d->head.stats.bytes_allocated;
    if (!budget || (held <= budget && size <= budget - held))
        return BL_OK;
    return error_set(err, BL_ERROR_DEVICE_MEMORY,
                     "buffer '%s' needs %llu bytes; %llu of the memory budget of %llu are in use", label,
                     (unsigned long long)size, (unsigned long long)held, (unsigned long long)budget);
}

static bl_result map(vulkan_buffer *b, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->head.device);
    if (b->memory) {
        GPU_TRY(d, err, MapMemory, d->handle, b->memory, 0, VK_WHOLE_SIZE, 0, &b->head.mapped);
        return BL_OK;
    }
    b->head.mapped = b->lent.mapped;
    return b->head.mapped
               ? BL_OK
               : error_set(err, BL_ERROR_ARGUMENT,
                           "allocate_memory gave memory of type %u for buffer '%s', which the host can "
                           "see, without mapping it",
                           b->memory_type, b->head.label);
}

static bl_result allocate(vulkan_buffer *b, gpu_memory where, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->head.device);
    VkMemoryRequirements needs;
    d->vk.vkGetBufferMemoryRequirements(d->handle, b->handle, &needs);
    int type = memory_type_for(d, where, needs.memoryTypeBits);
    if (type < 0)
        return error_set(err, BL_ERROR_DEVICE, "the device has no memory type for buffer '%s'",
                         b->head.label);
    b->memory_type = (uint32_t)type;
    TRY(keep_budget(d, b->head.label, needs.size, err));
    TRY(keep_system_budget(d, b, needs.size, err));
    TRY(d->adopted && d->adopted->allocate ? borrow(b, &needs, err) : allocate_own(b, &needs, err));
    gpu_buffer_allocated(&b->head, needs.size);
    GPU_TRY(d, err, BindBufferMemory, d->handle, b->handle, b->memory ? b->memory : b->lent.memory,
            b->lent.offset);
    VkMemoryPropertyFlags properties = d->memory.memoryTypes[type].propertyFlags;
    bool mappable = (properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
                    (properties & VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    return where == GPU_HOST || (mappable && (properties & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
               ? map(b, err)
               : BL_OK;
}

/* The device's own batch for zeroing and staged copies, and its staging buffer if `staging`. */
static bl_result prepare_transfers(vulkan_device *d, bool staging, bl_error *err)
{
    if (!d->transfers)
        TRY(gpu_batch_create(&d->head, &d->transfers, err));
    if (staging && !d->staging)
        TRY(gpu_buffer_create(&d->head, GPU_HOST, STAGING_SIZE, "staging", &d->staging, err));
    BL_ASSERT(!staging || d->staging->mapped, "the staging buffer of %s is not mapped",
              d->candidate->head.info.name);
    return gpu_batch_begin(d->transfers, err);
}

static bl_result finish_transfers(vulkan_device *d, bl_error *err)
{
    TRY(gpu_batch_submit(d->transfers, err));
    return gpu_batch_wait(d->transfers, NULL, err);
}

static bl_result clear(gpu_buffer *b, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->device);
    if (b->mapped) {
        memset(b->mapped, 0, b->size);
        return BL_OK;
    }
    TRY(prepare_transfers(d, false, err));
    gpu_batch_fill(d->transfers, b, 0, b->size, 0);
    return finish_transfers(d, err);
}

VkBufferUsageFlags vulkan_buffer_usage(const vulkan_device *d, uint32_t usage)
{
    VkBufferUsageFlags address =
        d->candidate->head.info.buffer_address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0;
    return usage | address | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
           VK_BUFFER_USAGE_TRANSFER_DST_BIT;
}

bl_result vulkan_buffer_build(gpu_buffer *head, const gpu_buffer_desc *desc, bl_error *err)
{
    vulkan_buffer *b = (vulkan_buffer *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = d->adopted ? (VkExternalMemoryHandleTypeFlags)d->adopted->exports : 0};
    b->usage = vulkan_buffer_usage(d, desc->usage);
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = external.handleTypes ? &external : NULL,
                               .size = head->size,
                               .usage = b->usage,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkResult created = d->vk.vkCreateBuffer(d->handle, &info, d->allocator, &b->handle);
    if (created != VK_SUCCESS) {
        b->handle = VK_NULL_HANDLE;
        return gpu_vk_error(err, "vkCreateBuffer", created);
    }
    gpu_label(d, VK_OBJECT_TYPE_BUFFER, GPU_HANDLE(b->handle), b->head.label);
    TRY(allocate(b, desc->where, err));
    if (b->memory)
        gpu_label(d, VK_OBJECT_TYPE_DEVICE_MEMORY, GPU_HANDLE(b->memory), b->head.label);
    return clear(head, err);
}

void vulkan_buffer_destroy(gpu_buffer *head)
{
    vulkan_buffer *b = (vulkan_buffer *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    gpu_buffer_destroy(b->address);
    if (b->foreign)
        return;
    d->vk.vkDestroyBuffer(d->handle, b->handle, d->allocator);
    if (b->lent.memory)
        d->adopted->free(d->adopted->user, &b->lent);
    d->vk.vkFreeMemory(d->handle, b->memory, d->allocator); /* unmaps */
}

uint64_t vulkan_buffer_address(const gpu_buffer *b)
{
    vulkan_device *d = vulkan_device_of(b->device);
    VkBufferDeviceAddressInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
        .buffer = vulkan_buffer_handle(b),
    };
    return d->vk.vkGetBufferDeviceAddress(d->handle, &info);
}

gpu_buffer *vulkan_buffer_of_address(gpu_buffer *head, bl_error *err)
{
    vulkan_buffer *b = (vulkan_buffer *)head;
    const gpu_info *info = gpu_device_info(head->device);
    uint64_t address = gpu_buffer_address(head);
    const uint32_t words[2] = {(uint32_t)address, (uint32_t)(address >> 32)};
    if (b->address)
        return b->address;
    if (!address) {
        error_set(err, BL_ERROR_UNSUPPORTED,
                  "buffer '%s' has %llu bytes; a binding of %s reaches %llu, and it has no buffer addresses",
                  head->label, (unsigned long long)head->size, info->name,
                  (unsigned long long)info->max_buffer_range);
        return NULL;
    }
    if (gpu_buffer_create(head->device, GPU_DEVICE, sizeof words, "address", &b->address, err) != BL_OK ||
        gpu_buffer_write(b->address, 0, words, sizeof words, err) != BL_OK)
        return NULL;
    return b->address;
}

bl_result vulkan_buffer_write(gpu_buffer *b, uint64_t offset, const void *data, uint64_t size, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->device);
    for (uint64_t done = 0, part; done < size; done += part) {
        part = size - done < STAGING_SIZE ? size - done : STAGING_SIZE;
        TRY(prepare_transfers(d, true, err));
        memcpy(d->staging->mapped, (const char *)data + done, part);
        gpu_batch_copy(d->transfers, d->staging, 0, b, offset + done, part);
        TRY(finish_transfers(d, err));
    }
    return BL_OK;
}

bl_result vulkan_buffer_read(gpu_buffer *b, uint64_t offset, void *data, uint64_t size, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->device);
    for (uint64_t done = 0, part; done < size; done += part) {
        part = size - done < STAGING_SIZE ? size - done : STAGING_SIZE;
        TRY(prepare_transfers(d, true, err));
        gpu_batch_copy(d->transfers, b, offset + done, d->staging, 0, part);
        TRY(finish_transfers(d, err));
        memcpy((char *)data + done, d->staging->mapped, part);
    }
    return BL_OK;
}
