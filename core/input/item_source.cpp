#include "core/input/item_source.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/input/format_sources.hpp"
#include "core/input/input_file.hpp"

namespace sluice {
namespace {

/// Items that have nothing but a number.
class NumberedSource final : public ItemSource {
public:
    NumberedSource(std::uint64_t count, const ItemCodec& codec) : count_(count), codec_(codec) {}

    [[nodiscard]] std::uint64_t count() const noexcept override { return count_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }
    [[nodiscard]] InputReads reads() const noexcept override { return {}; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return items_worth_a_read; }
    [[nodiscard]] std::string stamp() const override { return "no file"; }
    void check_content() const override {}

    void read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        const std::size_t item_bytes = codec_.shape().input_bytes;
        expects(first <= count_ && count <= count_ - first, "ItemSource::read stays inside the items");
        expects(to.size() == count * item_bytes, "ItemSource::read has room for exactly its items");
        for (std::uint32_t i = 0; i < count; ++i) {
            codec_.encode(first + i, {}, to.subspan(i * item_bytes, item_bytes));
        }
    }

private:
    static constexpr std::uint32_t items_worth_a_read = 64;

    std::uint64_t count_;
    const ItemCodec& codec_;
};

/// A file whose items were counted before.
class CountedSource final : public ItemSource {
public:
    CountedSource(std::unique_ptr<const InputFile> file, std::uint64_t count) : file_(std::move(file)), count_(count) {}

    [[nodiscard]] std::uint64_t count() const noexcept override { return count_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return file_->size(); }
    [[nodiscard]] InputReads reads() const noexcept override { return {.file = file_->size()}; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return 1; }
    [[nodiscard]] std::string stamp() const override { return file_->stamp(); }
    void check_content() const override { file_->check_content(); }
    void read(std::uint64_t, std::uint32_t, std::span<std::byte>) const override {
        expects(false, "items that were only counted are not read");
    }

private:
    std::unique_ptr<const InputFile> file_;
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

std::unique_ptr<ItemSource> make_source(std::unique_ptr<const InputFile> file, const JobConfig::Input& input,
                                        const ItemCodec& codec) {
    switch (input.format) {
        case InputFormat::npy:
            return make_npy_source(std::move(file), codec);
        case InputFormat::onehot_f32:
            return make_dense_source(std::move(file), codec);
        case InputFormat::u8:
            return make_packed_source(std::move(file), codec);
        default:
            break;
    }
    refuse_lfs_pointer(*file);
    refuse_compressed(*file);
    switch (input.format) {
        case InputFormat::csv:
            return make_csv_source(std::move(file), input, codec);
        case InputFormat::jsonl:
            return make_jsonl_source(std::move(file), input, codec);
        default:
            return make_txt_source(std::move(file), input, codec);
    }
}

std::unique_ptr<ItemSource> make_checked_source(std::unique_ptr<const InputFile> file, const JobConfig::Input& input,
                                                const ItemCodec& codec) {
    const std::string where = file->where();
    std::unique_ptr<ItemSource> source = make_source(std::move(file), input, codec);
    if (source->count() == 0 && !input.allow_empty) {
        throw Error(ExitCode::bad_data, {"E-INP-029", where, "no items (expected at least one)",
                                         "set [input].allow_empty = true if that is right"});
    }
    return source;
}

constexpr std::uint64_t most_groups = 64;  // each of them a place that is sought

}  // namespace

std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec) {
    expects(codec.shape().input_bytes > 0, "an app's items have bytes");
    if (input.path.empty()) {
        return make_numbered_source(input, codec);
    }
    return make_checked_source(std::make_unique<const InputFile>(input.path), input, codec);
}

std::unique_ptr<ItemSource> open_counted_input(const JobConfig::Input& input, const ItemCodec& codec,
                                               const CountedInput& counted) {
    if (input.path.empty()) {
        return open_input(input, codec);
    }
    auto file = std::make_unique<const InputFile>(input.path);
    if (file->stamp() == counted.stamp) {
        return std::make_unique<CountedSource>(std::move(file), counted.items);
    }
    return make_checked_source(std::move(file), input, codec);
}

std::string read_sample(const ItemSource& source, std::uint32_t most, std::uint32_t input_bytes) {
    const std::uint64_t count = source.count();
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
