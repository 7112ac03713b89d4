#include "core/output/row_encoder.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/input/npy_header.hpp"
#include "core/output/output_rows.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t typical_label_digits = 1;
constexpr std::uint64_t typical_score_digits = 10;  // of the shortest decimals that read back to the same float

}  // namespace

RowEncoder::RowEncoder(OutputFormat format, std::vector<OutputField> fields)
    : format_(format), fields_(std::move(fields)), item_bytes_(output_bytes(fields_)) {}

std::string RowEncoder::header(std::uint64_t items) const {
    switch (format_) {
        case OutputFormat::npy:
            return make_npy_header(fields_, items);
        case OutputFormat::csv:
            return csv_header(fields_);
        default:
            return {};
    }
}

std::span<const std::byte> RowEncoder::encode(std::uint64_t first, std::uint32_t count,
                                              std::span<const std::byte> outputs) {
    expects(outputs.size() == count * item_bytes_, "RowEncoder::encode gets exactly its items");
    if (format_ == OutputFormat::npy) {
        return outputs;
    }
    rows_.clear();
    const auto append_row = format_ == OutputFormat::csv ? append_csv_row : append_jsonl_row;
    for (std::uint32_t i = 0; i < count; ++i) {
        append_row(fields_, first + i, outputs.subspan(i * item_bytes_, item_bytes_), rows_);
    }
    return std::as_bytes(std::span(rows_));
}

std::uint64_t RowEncoder::estimate_row_bytes(std::uint64_t items) const {
    if (format_ == OutputFormat::npy) {
        return item_bytes_;
    }
    const std::uint64_t number = std::to_string(items).size();
    const bool csv = format_ == OutputFormat::csv;
    std::uint64_t row = number + (csv ? 1 : std::string_view("{\"item\":}\n").size());
    for (const OutputField& field : fields_) {
        const std::uint64_t digits = field.type == FieldType::int32 ? typical_label_digits : typical_score_digits;
        row += field.count * (digits + 1) + (csv ? 0 : field.name.size() + std::string_view(",\"s\":[]").size());
    }
    return row;
}

std::string extension_of(OutputFormat format) {
    switch (format) {
        case OutputFormat::npy:
            return ".npy";
        case OutputFormat::csv:
            return ".csv";
        default:
            return ".jsonl";
    }
}

}  // namespace sluice
