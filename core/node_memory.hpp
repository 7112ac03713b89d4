#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

/// Memory that other processes of the node can map: what is large and the same on all ranks of a node is there once.
/// Zeroed at first; its owner unmaps it, and the pages go with the last process that has them mapped.
class NodeMemory {
public:
    NodeMemory() = default;
    NodeMemory(NodeMemory&& other) noexcept;
    NodeMemory& operator=(NodeMemory&& other) noexcept;
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;
    ~NodeMemory();

    /// For this process alone. Throws std::bad_alloc.
    [[nodiscard]] static NodeMemory of_process(std::size_t bytes);

    /// That others can map; as of_process(), with no ticket, where the system refuses (a limit on file sizes holds for
    /// such memory too). Throws std::bad_alloc.
    [[nodiscard]] static NodeMemory for_node(std::size_t bytes);

    /// What another process needs to map this memory.
    struct Ticket {
        std::int64_t pid = 0;
        std::int64_t file = -1;
        std::uint64_t device = 0;  ///< Device and inode: the same number in another PID namespace is not this memory.
        std::uint64_t inode = 0;
        std::uint64_t bytes = 0;
    };

    /// Nothing when others cannot map it.
    [[nodiscard]] std::optional<Ticket> ticket() const;

    /// The memory of `ticket`, whose owner still has it; nothing when this process may not reach it.
    [[nodiscard]] static std::optional<NodeMemory> map(const Ticket& ticket);

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

private:
    NodeMemory(std::byte* data, std::size_t size, int file) noexcept : data_(data), size_(size), file_(file) {}

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    int file_ = -1;  // of memfd_create(2); -1: private memory
};

}  // namespace sluice
