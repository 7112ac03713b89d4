#include "core/io/output_writer.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/io/npy_header.hpp"
#include "core/io/output_file.hpp"
#include "core/io/output_rows.hpp"

namespace sluice {
namespace {

/// Rows are collected in a string of about this size before they go on: small enough to stay in the first-level cache.
constexpr std::size_t row_block_bytes = std::size_t{16} << 10;

std::string start_of(OutputFormat format, std::span<const OutputField> fields, std::uint64_t items) {
    switch (format) {
        case OutputFormat::npy:
            return make_npy_header(fields, items);
        case OutputFormat::csv:
            return csv_header(fields);
        default:
            return {};
    }
}

/// The size of the file where it is known before the results are, else 0.
std::uint64_t size_of(OutputFormat format, std::size_t start_bytes, std::uint64_t items, std::size_t item_bytes) {
    std::uint64_t size = 0;
    if (format != OutputFormat::npy) {
        return 0;
    }
    const bool overflow = __builtin_mul_overflow(items, std::uint64_t{item_bytes}, &size) ||
                          __builtin_add_overflow(size, std::uint64_t{start_bytes}, &size);
    expects(!overflow, "an output fits into 64 bits");
    return size;
}

class FileOutputWriter final : public OutputWriter {
public:
    FileOutputWriter(const std::filesystem::path& path, OutputFormat format, std::vector<OutputField> fields,
                     std::uint64_t items)
        : format_(format),
          fields_(std::move(fields)),
          item_bytes_(output_bytes(fields_)),
          items_(items),
          rows_(start_of(format, fields_, items)),
          file_(path, size_of(format, rows_.size(), items, item_bytes_)) {}

    void append(std::uint32_t count, std::span<const std::byte> outputs) override {
        expects(outputs.size() == count * item_bytes_, "OutputWriter::append gets exactly its items");
        expects(count <= items_ - written_, "OutputWriter::append gets no more items than were announced");
        if (format_ == OutputFormat::npy) {
            flush_rows();
            file_.write(outputs);
            written_ += count;
            return;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto values = outputs.subspan(i * item_bytes_, item_bytes_);
            if (format_ == OutputFormat::csv) {
                append_csv_row(fields_, written_, values, rows_);
            } else {
                append_jsonl_row(fields_, written_, values, rows_);
            }
            ++written_;
            if (rows_.size() >= row_block_bytes) {
                flush_rows();
            }
        }
    }

    void publish() override {
        if (written_ != items_) {
            throw ContractViolation(fmt::format("an output of {} items was published after {}", items_, written_));
        }
        flush_rows();
        file_.publish();
    }

    [[nodiscard]] std::filesystem::path temporary_path() const override { return file_.temporary_path(); }

private:
    void flush_rows() {
        file_.write(rows_);
        rows_.clear();
    }

    OutputFormat format_;
    std::vector<OutputField> fields_;
    std::size_t item_bytes_;
    std::uint64_t items_;
    std::uint64_t written_ = 0;
    std::string rows_;  // formatted, not yet in the file; at first its header
    OutputFile file_;
};

}  // namespace

std::unique_ptr<OutputWriter> make_output_writer(const std::filesystem::path& path, OutputFormat format,
                                                 std::vector<OutputField> fields, std::uint64_t items) {
    return std::make_unique<FileOutputWriter>(path, format, std::move(fields), items);
}

}  // namespace sluice
