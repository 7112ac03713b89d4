#include "core/output/row_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "core/config/config.hpp"
#include "core/error.hpp"
#include "core/input/npy_header.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t typical_label_digits = 1;
constexpr std::uint64_t typical_score_digits = 10;  // of the shortest decimals that read back to the same float
constexpr std::uint64_t number_bytes = 4;

constexpr std::uint64_t least_piece_bytes = std::uint64_t{32} << 10;   // some ten times as long as to wake a thread
constexpr std::uint64_t least_shared_bytes = std::uint64_t{16} << 20;  // of an output: 0.1 s or less for one thread
constexpr std::uint32_t most_encoders = 8;                             // write() keeps up with no more
constexpr std::uint32_t pieces_per_thread = 4;                         // so that none waits long for a late one

void check_fields(std::span<const OutputField> fields) {
    expects(!fields.empty(), "an app has output fields");
    std::set<std::string_view> names{"item"};
    for (const OutputField& field : fields) {
        expects(field.count > 0 && !field.name.empty(), "an output field has a name and a value");
        expects(names.insert(field.name).second, "output fields have different names, and none is called item");
        for (const char byte : field.name) {
            const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                               (byte >= '0' && byte <= '9') || byte == '_';
            expects(plain, "an output field's name has letters, digits and _ only: it stands unquoted in files");
        }
    }
}

std::string csv_header(std::span<const OutputField> fields) {
    std::string header = "item";
    for (const OutputField& field : fields) {
        for (std::uint32_t i = 0; i < field.count; ++i) {
            header += field.is_array() ? fmt::format(",{}_{}", field.name, i) : "," + field.name;
        }
    }
    return header + "\n";
}

std::uint64_t pieces_of(std::uint64_t rows, std::uint64_t row_bytes) noexcept {
    return std::max<std::uint64_t>(1, rows * row_bytes / least_piece_bytes);
}

}  // namespace

std::uint32_t choose_encoders(const EncodingNeeds& needs) {
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, needs.row_bytes);
    if (needs.items < least_shared_bytes / row_bytes) {
        return 1;
    }
    const std::uint64_t pieces = pieces_of(needs.chunk_items, std::min(row_bytes, least_piece_bytes));
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(std::min<std::uint64_t>(pieces, needs.cores), 1, most_encoders));
}

void check_format(OutputFormat format, std::span<const OutputField> fields) {
    check_fields(fields);
    const auto refuse = [&](const std::string& what, const char* hint) {
        throw Error(ExitCode::configuration, {.id = "E-OUT-027",
                                              .where = "output.format",
                                              .what = fmt::format("got \"{}\", but {}", name_of(format), what),
                                              .hint = hint});
    };
    const auto is_text = [](const OutputField& field) { return field.type == FieldType::text; };
    const auto endless =
        std::ranges::find_if(fields, [&](const OutputField& field) { return is_text(field) && field.most_bytes == 0; });
    std::vector<OutputField> in_txt;
    std::ranges::copy_if(fields, std::back_inserter(in_txt), &OutputField::in_txt);
    const bool one_text = in_txt.size() == 1 && is_text(in_txt.front()) && in_txt.front().count == 1;
    if (format == OutputFormat::npy && endless != fields.end()) {
        refuse(fmt::format("'{}' is text (expected numbers only)", endless->name),
               one_text ? "choose csv, jsonl or txt" : "choose csv or jsonl");
    }
    if (format == OutputFormat::txt && !one_text) {
        refuse("the results are not one text an item",
               endless != fields.end() ? "choose csv or jsonl" : "choose csv, jsonl or npy");
    }
    for (const OutputField& field : fields) {
        if (format == OutputFormat::txt && !field.in_txt && !field.asked_by.empty()) {
            throw Error(ExitCode::configuration,
                        {.id = "E-CFG-105",
                         .where = field.asked_by,
                         .what = fmt::format("adds '{}', and txt output is one text an item", field.name),
                         .hint = "remove it, or write csv or jsonl"});
        }
    }
}

RowEncoder::RowEncoder(OutputFormat format, const ItemCodec& codec)
    : format_(format), codec_(codec), fields_(codec.output_fields()), result_bytes_(codec.shape().output_bytes) {
    check_format(format, fields_);
    expects(result_bytes_ > 0, "an app's results have bytes");
    use_threads(1);
}

void RowEncoder::use_threads(std::uint32_t threads) {
    expects(threads >= 1, "RowEncoder: the thread that calls it encodes");
    pieces_.resize(threads == 1 ? 1 : std::size_t{threads} * pieces_per_thread);
    for (Piece& piece : pieces_) {
        piece.writer = make_row_writer(format_, fields_);
    }
    team_.reset();
    if (threads > 1) {
        team_.emplace(threads - 1);
    }
}

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

RowEncoder::Rows RowEncoder::encode(std::uint64_t first, std::uint32_t count, std::span<const std::byte> results) {
    expects(results.size() == count * result_bytes_, "RowEncoder::encode gets exactly its items");
    const auto pieces = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(pieces_.size(), pieces_of(count, estimate_row_bytes(first + count))));
    if (pieces == 1) {
        encode_piece(0, 1, first, results);
        return {.bytes = pieces_[0].writer->rows().bytes(), .nonfinite = pieces_[0].nonfinite};
    }
    const auto encode = [&](std::uint32_t piece) { encode_piece(piece, pieces, first, results); };
    team_->run(pieces, encode);
    Rows rows;
    joined_.clear();
    for (const Piece& piece : std::span(pieces_).first(pieces)) {
        joined_.append(piece.writer->rows().bytes());
        rows.nonfinite += piece.nonfinite;
    }
    rows.bytes = joined_.bytes();
    return rows;
}

void RowEncoder::encode_piece(std::uint32_t piece, std::uint32_t pieces, std::uint64_t first,
                              std::span<const std::byte> results) {
    const std::uint64_t items = results.size() / result_bytes_;
    const std::uint64_t begin = items * piece / pieces;
    const std::uint64_t end = items * (piece + 1) / pieces;
    const auto part = results.subspan(begin * result_bytes_, (end - begin) * result_bytes_);
    Piece& to = pieces_[piece];
    to.nonfinite = codec_.nonfinite(part);
    to.writer->rows().clear();
    to.writer->write(codec_, first + begin, part);
}

std::uint64_t RowEncoder::estimate_row_bytes(std::uint64_t items) const {
    std::uint64_t values = 0;  // numbers
    std::uint64_t padded = 0;  // bytes of texts in .npy
    bool has_text = false;
    for (const OutputField& field : fields_) {
        padded += field.type == FieldType::text ? std::uint64_t{field.count} * field.most_bytes : 0;
        values += field.type == FieldType::text ? 0 : field.count;
        has_text = has_text || field.type == FieldType::text;
    }
    if (format_ == OutputFormat::npy) {
        return values * number_bytes + padded;
    }
    const std::uint64_t text =
        has_text ? (result_bytes_ - std::min<std::uint64_t>(result_bytes_, values * number_bytes)) / 2 : 0;
    if (format_ == OutputFormat::txt) {
        return text + 1;
    }
    const std::uint64_t number = std::to_string(items).size();
    const bool csv = format_ == OutputFormat::csv;
    std::uint64_t row = number + text + (csv ? 1 : std::string_view("{\"item\":}\n").size());
    for (const OutputField& field : fields_) {
        const std::uint64_t digits = field.type == FieldType::text      ? 0
                                     : field.type == FieldType::float32 ? typical_score_digits
                                                                        : typical_label_digits;
        row += field.count * (digits + 1) + (csv ? 0 : field.name.size() + std::string_view(",\"s\":[]").size());
    }
    return row;
}

std::string extension_of(OutputFormat format) {
    return fmt::format(".{}", name_of(format));
}

}  // namespace sluice
