#include "core/io/output_writer.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/io/output_file.hpp"
#include "core/io/row_encoder.hpp"

namespace sluice {
namespace {

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
        : rows_(format, std::move(fields)),
          items_(items),
          header_(rows_.header(items)),
          file_(path, size_of(format, header_.size(), items, rows_.item_bytes())) {}

    void append(std::uint32_t count, std::span<const std::byte> outputs) override {
        expects(count <= items_ - written_, "OutputWriter::append gets no more items than were announced");
        write_header();
        file_.write(rows_.encode(written_, count, outputs));
        written_ += count;
    }

    void publish() override {
        if (written_ != items_) {
            throw ContractViolation(fmt::format("an output of {} items was published after {}", items_, written_));
        }
        write_header();
        file_.publish();
    }

private:
    void write_header() {
        file_.write(header_);
        header_.clear();
    }

    RowEncoder rows_;
    std::uint64_t items_;
    std::uint64_t written_ = 0;
    std::string header_;  // empty once it is in the file
    OutputFile file_;
};

}  // namespace

std::unique_ptr<OutputWriter> make_output_writer(const std::filesystem::path& path, OutputFormat format,
                                                 std::vector<OutputField> fields, std::uint64_t items) {
    return std::make_unique<FileOutputWriter>(path, format, std::move(fields), items);
}

}  // namespace sluice
