/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers. Each has an allocation of its own, because there are few of them (a few bindings per scene and
 * job).
 *
 * GPU_DEVICE memory is also host-visible where the device shares its memory with the host (CPU drivers,
 * integrated GPUs): then copies are plain memory copies. Elsewhere they go through one staging buffer per
 * device, in pieces. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

enum { STAGING_SIZE = 8 << 20 };

/* The allowed memory type that has all `required` and most of the `preferred` flags; -1: no type has the
 * required ones. Among equals it is the first, because the specification orders types by performance. */
static int choose_type(const gpu_device *d, uint32_t allowed, VkMemoryPropertyFlags required,
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

static int memory_type_for(const gpu_device *d, gpu_memory where, uint32_t allowed)
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

static bl_result allocate(gpu_buffer *b, gpu_memory where, bl_error *err)
{
    gpu_device *d = b->device;
    VkMemoryRequirements needs;
    d->vk.GetBufferMemoryRequirements(d->handle, b->handle, &needs);
    int type = memory_type_for(d, where, needs.memoryTypeBits);
    if (type < 0)
        return error_set(err, BL_ERROR_DEVICE, "the device has no memory type for buffer '%s'", b->label);
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = d->candidate->info.buffer_address ? &flags : NULL,
                                 .allocationSize = needs.size,
                                 .memoryTypeIndex = (uint32_t)type};
    VkResult allocated = d->vk.AllocateMemory(d->handle, &info, NULL, &b->memory);
    if (allocated != VK_SUCCESS) {
        b->memory = VK_NULL_HANDLE;
        return error_set(
            err, gpu_result_of(allocated), "vkAllocateMemory of %llu bytes for buffer '%s' failed: %s (%d)",
            (unsigned long long)needs.size, b->label, gpu_vk_result_name(allocated), (int)allocated);
    }
    b->allocated = needs.size;
    d->stats.bytes_allocated += needs.size;
    if (d->stats.bytes_allocated > d->stats.bytes_peak)
        d->stats.bytes_peak = d->stats.bytes_allocated;
    GPU_TRY(d, err, BindBufferMemory, d->handle, b->handle, b->memory, 0);
    VkMemoryPropertyFlags properties = d->memory.memoryTypes[type].propertyFlags;
    bool mappable = (properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
                    (properties & VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    if (where == GPU_HOST || (mappable && (properties & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)))
        GPU_TRY(d, err, MapMemory, d->handle, b->memory, 0, VK_WHOLE_SIZE, 0, &b->mapped);
    return BL_OK;
}

/* The device's own batch for zeroing and staged copies, and its staging buffer if `staging`. */
static bl_result prepare_transfers(gpu_device *d, bool staging, bl_error *err)
{
    if (!d->transfers)
        TRY(gpu_batch_create(d, &d->transfers, err));
    if (staging && !d->staging)
        TRY(gpu_buffer_create(d, GPU_HOST, STAGING_SIZE, "staging", &d->staging, err));
    BL_ASSERT(!staging || d->staging->mapped, "the staging buffer of %s is not mapped",
              d->candidate->info.name);
    return gpu_batch_begin(d->transfers, err);
}

static bl_result finish_transfers(gpu_device *d, bl_error *err)
{
    TRY(gpu_batch_submit(d->transfers, err));
    return gpu_batch_wait(d->transfers, NULL, err);
}

static bl_result clear(gpu_buffer *b, bl_error *err)
{
    if (b->mapped) {
        memset(b->mapped, 0, b->size);
        return BL_OK;
    }
    TRY(prepare_transfers(b->device, false, err));
    gpu_batch_fill(b->device->transfers, b, 0, b->size, 0);
    return finish_transfers(b->device, err);
}

static bl_result build(gpu_buffer *b, gpu_memory where, VkBufferUsageFlags usage, bl_error *err)
{
    gpu_device *d = b->device;
    usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
             VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (d->candidate->info.buffer_address)
        usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = b->size,
                               .usage = usage,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkResult created = d->vk.CreateBuffer(d->handle, &info, NULL, &b->handle);
    if (created != VK_SUCCESS) {
        b->handle = VK_NULL_HANDLE;
        return gpu_vk_error(err, "vkCreateBuffer", created);
    }
    gpu_label(d, VK_OBJECT_TYPE_BUFFER, GPU_HANDLE(b->handle), b->label);
    TRY(allocate(b, where, err));
    gpu_label(d, VK_OBJECT_TYPE_DEVICE_MEMORY, GPU_HANDLE(b->memory), b->label);
    return clear(b, err);
}

bl_result gpu_buffer_create(gpu_device *d, gpu_memory where, uint64_t size, const char *label,
                            gpu_buffer **out, bl_error *err)
{
    return gpu_buffer_create_for(d, &(gpu_buffer_desc){.where = where, .size = size, .label = label}, out,
                                 err);
}

bl_result gpu_buffer_create_for(gpu_device *d, const gpu_buffer_desc *desc, gpu_buffer **out, bl_error *err)
{
    *out = NULL;
    const char *label = desc->label ? desc->label : "buffer";
    uint64_t size = desc->size, limit = d->candidate->info.max_allocation;
    if (size > limit || size > UINT64_MAX - 15)
        return error_set(err, BL_ERROR_DEVICE_MEMORY,
                         "buffer '%s' needs %llu bytes; %s allocates at most %llu", label,
                         (unsigned long long)size, d->candidate->info.name, (unsigned long long)limit);
    gpu_buffer *b = calloc(1, sizeof *b);
    if (b)
        b->label = strdup(label);
    if (!b || !b->label) {
        free(b);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    b->device = d;
    b->asked = size;
    b->size = size ? (size + 15) & ~(uint64_t)15 : 16;
    bl_result result = build(b, desc->where, desc->usage, err);
    if (result != BL_OK)
        gpu_buffer_destroy(b);
    else
        *out = b;
    return result;
}

void gpu_buffer_destroy(gpu_buffer *b)
{
    if (!b)
        return;
    gpu_device *d = b->device;
    BL_ASSERT(b->allocated <= d->stats.bytes_allocated, "buffer '%s' frees %llu bytes of %llu", b->label,
              (unsigned long long)b->allocated, (unsigned long long)d->stats.bytes_allocated);
    gpu_buffer_destroy(b->address);
    d->vk.DestroyBuffer(d->handle, b->handle, NULL);
    d->vk.FreeMemory(d->handle, b->memory, NULL); /* unmaps */
    d->stats.bytes_allocated -= b->allocated;
    free(b->label);
    free(b);
}

uint64_t gpu_buffer_size(const gpu_buffer *b) { return b->size; }
uint64_t gpu_buffer_asked_size(const gpu_buffer *b) { return b->asked; }

void *gpu_buffer_mapped(gpu_buffer *b) { return b->mapped; }

uint64_t gpu_buffer_address(const gpu_buffer *b)
{
    if (!b->device->candidate->info.buffer_address)
        return 0;
    VkBufferDeviceAddressInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
        .buffer = b->handle,
    };
    return b->device->vk.GetBufferDeviceAddress(b->device->handle, &info);
}

gpu_buffer *gpu_buffer_of_address(gpu_buffer *b, bl_error *err)
{
    uint64_t address = gpu_buffer_address(b);
    const uint32_t words[2] = {(uint32_t)address, (uint32_t)(address >> 32)};
    if (b->address)
        return b->address;
    if (!address) {
        error_set(err, BL_ERROR_UNSUPPORTED,
                  "buffer '%s' has %llu bytes; a binding of %s reaches %u, and it has no buffer addresses",
                  b->label, (unsigned long long)b->size, b->device->candidate->info.name,
                  b->device->candidate->info.max_buffer_range);
        return NULL;
    }
    if (gpu_buffer_create(b->device, GPU_DEVICE, sizeof words, "address", &b->address, err) != BL_OK ||
        gpu_buffer_write(b->address, 0, words, sizeof words, err) != BL_OK)
        return NULL;
    return b->address;
}

static bl_result check_range(const gpu_buffer *b, const char *what, uint64_t offset, uint64_t size,
                             bl_error *err)
{
    if (offset <= b->size && size <= b->size - offset)
        return BL_OK;
    return error_set(err, BL_ERROR_ARGUMENT, "%s %llu bytes at %llu of buffer '%s', which has %llu", what,
                     (unsigned long long)size, (unsigned long long)offset, b->label,
                     (unsigned long long)b->size);
}

bl_result gpu_buffer_write(gpu_buffer *b, uint64_t offset, const void *data, uint64_t size, bl_error *err)
{
    BL_ASSERT(data || !size, "%llu bytes for buffer '%s' from nowhere", (unsigned long long)size, b->label);
    TRY(check_range(b, "writing", offset, size, err));
    if (b->mapped && size)
        memcpy((char *)b->mapped + offset, data, size);
    gpu_device *d = b->device;
    for (uint64_t done = 0, part; !b->mapped && done < size; done += part) {
        part = size - done < STAGING_SIZE ? size - done : STAGING_SIZE;
        TRY(prepare_transfers(d, true, err));
        memcpy(d->staging->mapped, (const char *)data + done, part);
        gpu_batch_copy(d->transfers, d->staging, 0, b, offset + done, part);
        TRY(finish_transfers(d, err));
    }
    return BL_OK;
}

bl_result gpu_buffer_read(gpu_buffer *b, uint64_t offset, void *data, uint64_t size, bl_error *err)
{
    BL_ASSERT(data || !size, "%llu bytes of buffer '%s' to nowhere", (unsigned long long)size, b->label);
    TRY(check_range(b, "reading", offset, size, err));
    if (b->mapped && size)
        memcpy(data, (const char *)b->mapped + offset, size);
    gpu_device *d = b->device;
    for (uint64_t done = 0, part; !b->mapped && done < size; done += part) {
        part = size - done < STAGING_SIZE ? size - done : STAGING_SIZE;
        TRY(prepare_transfers(d, true, err));
        gpu_batch_copy(d->transfers, b, offset + done, d->staging, 0, part);
        TRY(finish_transfers(d, err));
        memcpy((char *)data + done, d->staging->mapped, part);
    }
    return BL_OK;
}
