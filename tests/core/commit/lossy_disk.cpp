#include "tests/core/commit/lossy_disk.hpp"

#include "core/error.hpp"
#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {
namespace {

void write_into(std::string& bytes, std::uint64_t offset, std::string_view piece) {
    bytes.resize(std::max<std::size_t>(bytes.size(), offset + piece.size()), '\0');
    bytes.replace(offset, piece.size(), piece);
}

}  // namespace

LossyDisk::LossyDisk(const std::filesystem::path& base) : base_(base), nodes_{{.is_folder = true}} {}

void LossyDisk::apply(const FileEffect& effect) {
    using Kind = FileEffect::Kind;
    switch (effect.kind) {
        case Kind::create:
        case Kind::make_folder:
            nodes_.push_back({.is_folder = effect.kind == Kind::make_folder});
            bind(effect.path, nodes_.size() - 1);
            break;
        case Kind::write:
            nodes_[node_at(effect.path)].writes.push_back({effect.offset, effect.bytes});
            break;
        case Kind::sync: {
            Node& file = nodes_[node_at(effect.path)];
            for (const Write& write : file.writes) {
                write_into(file.bytes, write.offset, write.bytes);
            }
            file.writes.clear();
            break;
        }
        case Kind::sync_failed:
            nodes_[node_at(effect.path)].writes.clear();
            break;
        case Kind::sync_folder: {
            if (!effect.path.native().starts_with(base_.native())) {
                break;
            }
            Node& folder = nodes_[node_at(effect.path)];
            folder.entries = entries_now(folder);
            folder.moves.clear();
            break;
        }
        case Kind::rename:
        case Kind::link: {
            const std::size_t node = node_at(effect.path);
            const bool in_one_folder = effect.path.parent_path() == effect.other.parent_path();
            if (effect.kind == Kind::rename && in_one_folder) {
                nodes_[node_at(effect.path.parent_path())].moves.push_back(
                    {effect.path.filename(), effect.other.filename(), node});
                break;
            }
            bind(effect.other, node);
            if (effect.kind == Kind::rename) {
                unbind(effect.path);
            }
            break;
        }
        case Kind::remove:
            unbind(effect.path);
            break;
    }
}

LossyDisk::Tree LossyDisk::least() const {
    return tree(Chosen(pending(), false));
}

std::vector<LossyDisk::Tree> LossyDisk::states() const {
    const std::size_t count = pending();
    std::vector<Tree> states{tree(Chosen(count, false)), tree(Chosen(count, true))};
    for (const bool present : {false, true}) {
        for (std::size_t one = 0; one < count; ++one) {
            Chosen chosen(count, !present);
            chosen[one] = present;
            states.push_back(tree(chosen));
        }
    }
    return states;
}

std::size_t LossyDisk::node_at(const std::filesystem::path& path) const {
    std::size_t node = 0;
    for (const std::filesystem::path& name : path.lexically_relative(base_)) {
        if (name != "." && !name.empty()) {
            const auto entries = entries_now(nodes_[node]);
            const auto entry = entries.find(name.native());
            expects(entry != entries.end(), "an effect names what is there");
            node = entry->second;
        }
    }
    return node;
}

std::map<std::string, std::size_t> LossyDisk::entries_now(const Node& folder) const {
    std::map<std::string, std::size_t> entries = folder.entries;
    for (const Move& move : folder.moves) {
        entries.erase(move.unbound);
        if (!move.bound.empty()) {
            entries[move.bound] = move.node;
        }
    }
    return entries;
}

void LossyDisk::bind(const std::filesystem::path& path, std::size_t node) {
    nodes_[node_at(path.parent_path())].moves.push_back({"", path.filename(), node});
}

void LossyDisk::unbind(const std::filesystem::path& path) {
    nodes_[node_at(path.parent_path())].moves.push_back({path.filename(), "", 0});
}

std::size_t LossyDisk::pending() const {
    std::size_t count = 0;
    for (const Node& node : nodes_) {
        count += node.writes.size() + node.moves.size();
    }
    return count;
}

LossyDisk::Tree LossyDisk::tree(const Chosen& chosen) const {
    Tree made;
    add_to(made, 0, "", chosen);
    return made;
}

void LossyDisk::add_to(Tree& made, std::size_t node, const std::string& prefix, const Chosen& chosen) const {
    std::size_t piece = 0;
    for (std::size_t before = 0; before < node; ++before) {
        piece += nodes_[before].writes.size() + nodes_[before].moves.size();
    }
    const Node& found = nodes_[node];
    if (!found.is_folder) {
        std::string bytes = found.bytes;
        for (const Write& write : found.writes) {
            if (chosen[piece++]) {
                write_into(bytes, write.offset, write.bytes);
            }
        }
        made[prefix] = bytes;
        return;
    }
    std::map<std::string, std::size_t> entries = found.entries;
    for (const Move& move : found.moves) {
        if (chosen[piece++]) {
            entries.erase(move.unbound);
            if (!move.bound.empty()) {
                entries[move.bound] = move.node;
            }
        }
    }
    if (!prefix.empty()) {
        made[prefix + "/"];
    }
    for (const auto& [name, child] : entries) {
        add_to(made, child, prefix.empty() ? name : prefix + "/" + name, chosen);
    }
}

void make_tree(const LossyDisk::Tree& tree, const std::filesystem::path& base) {
    for (const auto& [path, bytes] : tree) {
        if (path.ends_with('/')) {
            create_own_folder(base / path);
        } else {
            write_file(base / path, bytes);
        }
    }
}

}  // namespace sluice::test
