#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/commit/file_effect.hpp"

namespace sluice::test {

/// What files and folders a disk may hold after a loss of power, as far as POSIX promises anything: the bytes of a file
/// are there when it was synced since, a name is when its folder was. Whatever was not synced is lost or not, each
/// piece by itself. A file whose sync has failed never gets the bytes that were written before.
class LossyDisk {
public:
    /// One that holds the folder `base` and nothing else, all of it durable.
    explicit LossyDisk(const std::filesystem::path& base);

    void apply(const FileEffect& effect);

    /// Files with their bytes and folders, by path relative to the base; a folder's path ends in a slash.
    using Tree = std::map<std::string, std::string>;

    /// Nothing that was not synced is there.
    [[nodiscard]] Tree least() const;

    /// The states that are easiest to get wrong: nothing pending is there, all of it, all but one piece, one piece
    /// alone.
    [[nodiscard]] std::vector<Tree> states() const;

private:
    struct Write {
        std::uint64_t offset;
        std::string bytes;
    };
    struct Move {
        std::string unbound{};  ///< A name that is gone; may be empty.
        std::string bound{};    ///< One that is there, for `node`.
        std::size_t node = 0;
    };
    struct Node {
        bool is_folder = false;
        std::string bytes{};                           // durable
        std::vector<Write> writes{};                   // pending
        std::map<std::string, std::size_t> entries{};  // durable
        std::vector<Move> moves{};                     // pending
    };
    /// Which pending pieces are there, counted over all nodes in order.
    using Chosen = std::vector<bool>;

    [[nodiscard]] std::size_t node_at(const std::filesystem::path& path) const;
    [[nodiscard]] std::map<std::string, std::size_t> entries_now(const Node& folder) const;
    void bind(const std::filesystem::path& path, std::size_t node);
    void unbind(const std::filesystem::path& path);
    [[nodiscard]] std::size_t pending() const;
    [[nodiscard]] Tree tree(const Chosen& chosen) const;
    void add_to(Tree& tree, std::size_t node, const std::string& prefix, const Chosen& chosen) const;

    std::filesystem::path base_;
    std::vector<Node> nodes_;
};

/// Makes `tree` in the empty folder `base`.
void make_tree(const LossyDisk::Tree& tree, const std::filesystem::path& base);

}  // namespace sluice::test
