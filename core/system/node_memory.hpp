#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/system/descriptor.hpp"

namespace sluice {

/// Memory that other processes of the node can map, so that large data shared by a node's ranks is stored once.
/// Zero-initialised. The owner unmaps it; the pages are freed with the last mapping.
class NodeMemory {
public:
    NodeMemory() = default;
    NodeMemory(NodeMemory&& other) noexcept;
    NodeMemory& operator=(NodeMemory&& other) noexcept;
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;
    ~NodeMemory();

    /// Private to this process. Throws std::bad_alloc.
    [[nodiscard]] static NodeMemory of_process(std::size_t bytes);

    /// Mappable by other processes. If the system refuses (limits on file sizes apply to such memory), private and
    /// without a ticket, like of_process(). Throws std::bad_alloc; once it has returned, pages are there to be touched,
    /// as far as the system promises that (vm.overcommit_memory = 2).
    [[nodiscard]] static NodeMemory for_node(std::size_t bytes);

    /// Identifies this memory to a process that maps it.
    struct Ticket {
        std::int64_t pid = 0;
        std::int64_t file = -1;
        std::uint64_t device = 0;  ///< Device and inode guard against an equal pid in another PID namespace.
        std::uint64_t inode = 0;
        std::uint64_t bytes = 0;
    };

    /// nullopt if others cannot map it.
    [[nodiscard]] std::optional<Ticket> ticket() const;

    /// Maps the memory of `ticket`, which its owner must still hold; nullopt if this process may not access it.
    [[nodiscard]] static std::optional<NodeMemory> map(const Ticket& ticket);

    /// This process may only read it from now on: a stray write is a SIGSEGV here, and no other process's wrong data.
    void make_read_only() noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

private:
    NodeMemory(std::byte* data, std::size_t size, Descriptor file) noexcept
        : data_(data), size_(size), file_(std::move(file)) {}

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    Descriptor file_;  // of memfd_create(2); none: private memory
};

}  // namespace sluice
