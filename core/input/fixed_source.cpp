#include "core/input/format_sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/input/checked.hpp"
#include "core/input/npy_header.hpp"
#include "core/input/number_type.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian and read as they lie");

/// Bytes of fp32 items or rows of integers that one pread asks for, at least one item: few enough that they are still
/// in the second-level cache when they are packed, so that memory is read once and not written (docs/performance.md).
constexpr std::uint64_t dense_read_bytes = std::uint64_t{256} << 10;

/// A read of fewer bytes costs more in system calls than in copying.
constexpr std::uint64_t shortest_read_bytes = std::uint64_t{64} << 10;

/// Of a row of integers, so that a header cannot ask for any memory.
constexpr std::uint64_t most_array_columns = std::uint64_t{1} << 20;

enum class ItemForm { dense, packed, integers };

struct FixedLayout {
    ItemForm form = ItemForm::packed;
    std::uint64_t data_offset = 0;
    std::uint64_t count = 0;
    std::uint64_t item_bytes = 0;  ///< In the file.
    IntegerType integer{};         ///< Of integers.
    std::string shape{};           ///< FileSource::form; of .npy.
};

class FixedSource final : public FileSource {
public:
    FixedSource(std::shared_ptr<const InputFile> file, const FixedLayout& layout, const ItemCodec& codec)
        : file_(std::move(file)), layout_(layout), codec_(codec), bytes_opening_(file_->bytes_read()) {}

    [[nodiscard]] std::uint64_t count() const override { return layout_.count; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return layout_.count * layout_.item_bytes; }
    [[nodiscard]] InputReads reads() const noexcept override {
        return {.file = file_->size(), .indexing = bytes_opening_, .items = file_->bytes_read() - bytes_opening_};
    }
    [[nodiscard]] std::uint32_t granularity() const noexcept override {
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, shortest_read_bytes / layout_.item_bytes));
    }

    void number_from(std::uint64_t first) noexcept override { first_item_ = first; }
    [[nodiscard]] std::string form() const override { return layout_.shape; }
    [[nodiscard]] const InputFile& file() const noexcept override { return *file_; }

    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        expects(first <= layout_.count && count <= layout_.count - first, "ItemSource::read stays inside the items");
        expects(to.size() == std::size_t{count} * codec_.shape().input_bytes,
                "ItemSource::read has room for exactly its items");
        switch (layout_.form) {
            case ItemForm::packed:
                read_packed(first, count, to);
                break;
            case ItemForm::dense:
                read_dense(first, count, to);
                break;
            case ItemForm::integers:
                read_integers(first, count, to);
                break;
        }
        file_->check_unchanged();
        return 0;
    }

private:
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t item) const {
        return layout_.data_offset + item * layout_.item_bytes;
    }

    void read_packed(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const {
        const std::size_t item_bytes = codec_.shape().input_bytes;
        file_->read(offset_of(first), to);
        for (std::uint32_t i = 0; i < count; ++i) {
            accept(first + i, codec_.check_packed(to.subspan(i * item_bytes, item_bytes)));
        }
    }

    void read_dense(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const {
        const std::size_t packed_bytes = codec_.shape().input_bytes;
        const std::size_t floats = layout_.item_bytes / sizeof(float);
        const std::uint64_t group = group_of(count);
        const auto buffer = std::make_unique_for_overwrite<float[]>(group * floats);
        for (std::uint64_t done = 0; done < count; done += group) {
            const std::uint64_t items = std::min<std::uint64_t>(group, count - done);
            const std::span<float> dense(buffer.get(), items * floats);
            file_->read(offset_of(first + done), std::as_writable_bytes(dense));
            for (std::uint64_t i = 0; i < items; ++i) {
                accept(first + done + i, codec_.pack_dense(dense.subspan(i * floats, floats),
                                                           to.subspan((done + i) * packed_bytes, packed_bytes)));
            }
        }
    }

    void read_integers(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const {
        const std::size_t packed_bytes = codec_.shape().input_bytes;
        const std::size_t row_bytes = layout_.item_bytes;
        std::vector<std::byte> rows(group_of(count) * row_bytes);
        std::vector<std::int64_t> row(row_bytes / layout_.integer.bytes);
        for (std::uint64_t done = 0; done < count; done += group_of(count)) {
            const std::uint64_t items = std::min<std::uint64_t>(group_of(count), count - done);
            file_->read(offset_of(first + done), std::span(rows).first(items * row_bytes));
            for (std::uint64_t i = 0; i < items; ++i) {
                const std::uint64_t item = first + done + i;
                widen(layout_.integer, std::span(rows).subspan(i * row_bytes, row_bytes), row);
                accept(item, codec_.pack_integers(first_item_ + item, row,
                                                  to.subspan((done + i) * packed_bytes, packed_bytes)));
            }
        }
    }

    /// Items of one pread of `count`, at least one.
    [[nodiscard]] std::uint64_t group_of(std::uint64_t count) const {
        return std::min(count, std::max<std::uint64_t>(1, dense_read_bytes / layout_.item_bytes));
    }

    void accept(std::uint64_t item, const ItemProblem& problem) const {
        if (problem) {
            file_->check_unchanged();  // the better explanation, if it holds
            file_->reject("E-INP-032",
                          fmt::format("item {} (at byte {}): {}", first_item_ + item, offset_of(item), problem.what),
                          problem.advice());
        }
    }

    std::shared_ptr<const InputFile> file_;
    FixedLayout layout_;
    const ItemCodec& codec_;
    std::uint64_t first_item_ = 0;
    std::uint64_t bytes_opening_;  // of its header
};

/// "[N,70,1014]", N being any number of items.
std::string shape_text(std::span<const std::uint64_t> item_shape) {
    return item_shape.empty() ? "[N]" : fmt::format("[N,{}]", fmt::join(item_shape, ","));
}

/// Of an array of items.
std::string shape_in_words(const NpyHeader& header) {
    return "shape " + shape_text(std::span(header.shape).subspan(1));
}

std::vector<std::uint64_t> dense_shape_of(const InputFile& file, const ItemCodec& codec) {
    std::vector<std::uint64_t> shape = codec.dense_shape();
    if (shape.empty()) {
        file.reject("E-INP-032", "this app has no fp32 input format",
                    codec.has_packed_form() ? "use a text format or .u8" : "use a text format");
    }
    return shape;
}

std::uint64_t packed_bytes_of(const InputFile& file, const ItemCodec& codec) {
    if (!codec.has_packed_form()) {
        const bool has_arrays = codec.row_integers() > 0 || !codec.dense_shape().empty();
        file.reject("E-INP-032", "this app has no uint8 input format",
                    has_arrays ? "use a text format, .npy or .bin" : "use a text format");
    }
    return codec.shape().input_bytes;
}

std::uint64_t dense_bytes(std::span<const std::uint64_t> shape) {
    const auto elements = checked_product(shape);
    const auto bytes = elements ? checked_multiply(*elements, sizeof(float)) : std::nullopt;
    expects(bytes && *bytes > 0, "an app's fp32 item has a size");
    return *bytes;
}

void check_claim(const InputFile& file, const NpyHeader& header, std::uint64_t item_bytes) {
    const std::uint64_t count = header.shape.front();
    const std::uint64_t data_bytes = file.size() - header.data_offset;
    const auto claimed = checked_multiply(count, item_bytes);
    if (!claimed || *claimed != data_bytes) {
        file.reject("E-INP-030",
                    fmt::format("the header claims {} items of {} bytes, {} bytes follow ({} items and {} left over)",
                                count, item_bytes, data_bytes, data_bytes / item_bytes, data_bytes % item_bytes),
                    claimed && *claimed < data_bytes ? "something follows the array: save one array a file"
                                                     : "the file is incomplete: save or copy it again");
    }
}

/// Of an .npy file.
std::unique_ptr<FileSource> make_integer_rows(std::shared_ptr<const InputFile> file, const ItemCodec& codec) {
    const NpyHeader header = read_npy_header(*file, NpyElements::integers);
    const std::uint64_t columns = header.shape.size() == 2 ? header.shape[1] : 1;
    if (header.shape.empty() || header.shape.size() > 2 || columns == 0 || columns > most_array_columns) {
        file->reject("E-INP-032",
                     fmt::format("got shape [{}] of integers, expected [N] or [N,columns], 1 to {} columns",
                                 fmt::join(header.shape, ","), most_array_columns),
                     "save one row per item");
    }
    const IntegerType type = find_integer_type(header.descr).value();
    const std::uint64_t item_bytes = columns * type.bytes;
    check_claim(*file, header, item_bytes);
    const FixedLayout layout{ItemForm::integers,    header.data_offset, header.shape.front(), item_bytes, type,
                             shape_in_words(header)};
    return std::make_unique<FixedSource>(std::move(file), layout, codec);
}

std::unique_ptr<FileSource> make_headerless(std::shared_ptr<const InputFile> file, ItemForm form,
                                            std::uint64_t item_bytes, const ItemCodec& codec) {
    expects(item_bytes > 0, "an app's item has a size");
    refuse_lfs_pointer(*file);
    if (file->size() % item_bytes != 0) {
        const std::string compression = compression_of(*file);
        file->reject("E-INP-030",
                     fmt::format("{} bytes are {} items of {} bytes and {} left over", file->size(),
                                 file->size() / item_bytes, item_bytes, file->size() % item_bytes),
                     compression.empty() ? "check [input].format, and that the file is complete"
                                         : fmt::format("unpack it first: it is in {} format", compression));
    }
    const FixedLayout layout{form, 0, file->size() / item_bytes, item_bytes, IntegerType{}, {}};
    return std::make_unique<FixedSource>(std::move(file), layout, codec);
}

}  // namespace

std::unique_ptr<FileSource> make_dense_source(std::shared_ptr<const InputFile> file, const ItemCodec& codec) {
    if (const std::uint64_t integers = codec.row_integers(); integers > 0) {
        return make_headerless(std::move(file), ItemForm::integers, integers * IntegerType{}.bytes, codec);
    }
    const std::uint64_t item_bytes = dense_bytes(dense_shape_of(*file, codec));
    return make_headerless(std::move(file), ItemForm::dense, item_bytes, codec);
}

std::unique_ptr<FileSource> make_packed_source(std::shared_ptr<const InputFile> file, const ItemCodec& codec) {
    const std::uint64_t item_bytes = packed_bytes_of(*file, codec);
    return make_headerless(std::move(file), ItemForm::packed, item_bytes, codec);
}

std::unique_ptr<FileSource> make_npy_source(std::shared_ptr<const InputFile> file, const ItemCodec& codec) {
    refuse_lfs_pointer(*file);
    refuse_compressed(*file);
    if (codec.row_integers() > 0) {
        return make_integer_rows(std::move(file), codec);
    }
    const NpyHeader header = read_npy_header(*file);
    const ItemForm form = header.descr == "<f4" ? ItemForm::dense : ItemForm::packed;
    const std::vector<std::uint64_t> wanted =
        form == ItemForm::dense ? dense_shape_of(*file, codec) : std::vector{packed_bytes_of(*file, codec)};
    if (header.shape.empty() ||
        !std::equal(header.shape.begin() + 1, header.shape.end(), wanted.begin(), wanted.end())) {
        file->reject("E-INP-032",
                     fmt::format("got shape [{}] of {}, the model expects {}", fmt::join(header.shape, ","),
                                 header.descr, shape_text(wanted)),
                     "save one row per item in the model's shape");
    }
    const std::uint64_t item_bytes = form == ItemForm::dense ? dense_bytes(wanted) : wanted.front();
    check_claim(*file, header, item_bytes);
    const FixedLayout layout{form,       header.data_offset, header.shape.front(),
                             item_bytes, IntegerType{},      shape_in_words(header)};
    return std::make_unique<FixedSource>(std::move(file), layout, codec);
}

}  // namespace sluice
