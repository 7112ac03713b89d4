#include "core/input/item_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/input/format_sources.hpp"
#include "core/input/input_files.hpp"
#include "core/input/many_source.hpp"

namespace sluice {
namespace {

/// Items that have nothing but a number.
class NumberedSource final : public ItemSource {
public:
    NumberedSource(std::uint64_t count, const ItemCodec& codec) : count_(count), codec_(codec) {}

    [[nodiscard]] std::uint64_t count() const override { return count_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }
    [[nodiscard]] InputReads reads() const noexcept override { return {}; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return items_worth_a_read; }
    [[nodiscard]] std::string stamp() const override { return "no file"; }
    [[nodiscard]] std::vector<SourceFile> files() const override { return {}; }
    void check_content() const override {}

    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        const std::size_t item_bytes = codec_.shape().input_bytes;
        expects(first <= count_ && count <= count_ - first, "ItemSource::read stays inside the items");
        expects(to.size() == count * item_bytes, "ItemSource::read has room for exactly its items");
        for (std::uint32_t i = 0; i < count; ++i) {
            codec_.encode(first + i, {}, to.subspan(i * item_bytes, item_bytes));
        }
        return 0;
    }

private:
    static constexpr std::uint32_t items_worth_a_read = 64;

    std::uint64_t count_;
    const ItemCodec& codec_;
};

/// Files whose items were counted before.
class CountedSource final : public ItemSource {
public:
    CountedSource(InputFiles files, std::uint64_t count) : files_(std::move(files)), count_(count) {}

    [[nodiscard]] std::uint64_t count() const override { return count_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return reads().file; }
    [[nodiscard]] InputReads reads() const noexcept override {
        InputReads reads;
        for (const auto& file : files_) {
            reads.file += file->size();
        }
        return reads;
    }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return 1; }
    [[nodiscard]] std::string stamp() const override { return stamp_of(files_); }
    [[nodiscard]] std::vector<SourceFile> files() const override {
        std::vector<SourceFile> files;
        for (const auto& file : files_) {
            files.push_back({.path = file->path(), .stamp = file->stamp(), .bytes = file->size()});
        }
        return files;
    }
    void check_content() const override {
        const auto check = [this](std::size_t i) { files_[i]->check_content(); };
        for_all_files(files_.size(), check);
    }
    std::uint32_t read(std::uint64_t, std::uint32_t, std::span<std::byte>) const override {
        throw ContractViolation("items that were only counted are not read");
    }

private:
    InputFiles files_;
    std::uint64_t count_;
};

std::unique_ptr<ItemSource> make_numbered_source(const JobConfig::Input& input, const ItemCodec& codec) {
    if (codec.needs_text()) {
        throw Error(ExitCode::configuration,
                    {"E-CFG-013", "input.path", "[input].path is required: this app reads a text for each item",
                     "name the file; input.count without a file is for apps that need no text"});
    }
    if (ItemProblem problem = codec.check_text({})) {
        throw Error(ExitCode::configuration, {"E-CFG-013", "input.path", std::move(problem.what), "name the file"});
    }
    return std::make_unique<NumberedSource>(input.count.value(), codec);
}

std::string where_of(const InputFiles& files) {
    return files.size() == 1 ? files.front()->where() : fmt::format("input.path ({} files)", files.size());
}

void refuse_empty(const ItemSource& source, const JobConfig::Input& input, const std::string& where) {
    if (source.count() == 0 && !input.allow_empty) {
        throw Error(ExitCode::bad_data, {"E-INP-029", where, "no items (expected at least one)",
                                         "set [input].allow_empty = true if that is right"});
    }
}

std::unique_ptr<ItemSource> make_source(InputFiles files, const JobConfig::Input& input, const ItemCodec& codec) {
    const std::string where = where_of(files);
    std::unique_ptr<ItemSource> source = files.size() == 1
                                             ? make_file_source(std::move(files.front()), input, codec, {})
                                             : make_many_source(std::move(files), input, codec);
    refuse_empty(*source, input, where);
    return source;
}

constexpr std::uint64_t most_groups = 64;  // each of them a place that is sought

}  // namespace

std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec) {
    expects(codec.shape().input_bytes > 0, "an app's items have bytes");
    if (input.paths.empty()) {
        return make_numbered_source(input, codec);
    }
    return make_source(open_input_files(input.paths), input, codec);
}

std::unique_ptr<ItemSource> open_growing_input(const JobConfig::Input& input, const ItemCodec& codec,
                                               std::uint64_t items, std::uint64_t least_bytes) {
    InputFiles files = open_input_files(input.paths);
    std::uint64_t bytes = 0;
    for (const auto& file : files) {
        bytes += file->size();
    }
    if (bytes < least_bytes) {
        return make_source(std::move(files), input, codec);
    }
    const std::string where = where_of(files);
    std::unique_ptr<ItemSource> source =
        files.size() == 1 ? make_file_source(std::move(files.front()), input, codec, {.beside = true})
                          : make_many_source(std::move(files), input, codec, true);
    static_cast<void>(source->wait_for(std::max<std::uint64_t>(items, 1), {}));
    if (source->known().is_all) {
        refuse_empty(*source, input, where);
    }
    return source;
}

std::unique_ptr<ItemSource> open_counted_input(const JobConfig::Input& input, const ItemCodec& codec,
                                               const CountedInput& counted) {
    if (input.paths.empty()) {
        return open_input(input, codec);
    }
    InputFiles files = open_input_files(input.paths);
    if (stamp_of(files) == counted.stamp) {
        return std::make_unique<CountedSource>(std::move(files), counted.items);
    }
    return make_source(std::move(files), input, codec);
}

std::string read_sample(const ItemSource& source, std::uint64_t count, std::uint32_t most, std::uint32_t input_bytes) {
    const std::uint64_t wanted = std::min<std::uint64_t>(most, count);
    const std::uint64_t groups = std::min(most_groups, wanted);
    std::string sample(wanted * input_bytes, '\0');
    const auto room = std::as_writable_bytes(std::span(sample));
    std::uint64_t taken = 0;
    for (std::uint64_t group = 0; group < groups; ++group) {
        const std::uint64_t end = (group + 1) * wanted / groups;
        const auto items = static_cast<std::uint32_t>(end - taken);
        // What is left out lies between the groups, in equal shares.
        const std::uint64_t left_out = count - wanted;
        const std::uint64_t first = taken + group * (left_out / groups) + group * (left_out % groups) / groups;
        source.read(first, items, room.subspan(taken * input_bytes, items * std::size_t{input_bytes}));
        taken = end;
    }
    return sample;
}

}  // namespace sluice
