#include "core/output/row_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/output/text_escape.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "results are little-endian and formatted as they lie");

constexpr std::size_t value_bytes = 4;
constexpr std::size_t longest_number = 32;  // the longest float has 15 characters, the longest uint64 20
constexpr std::string_view item_key = "{\"item\":";

char* put(std::string_view text, char* to) noexcept {
    return std::ranges::copy(text, to).out;
}

template <class Number>
char* put_number(Number number, char* to) noexcept {
    return std::to_chars(to, to + longest_number, number).ptr;
}

/// One value of a row.
struct Column {
    std::string name{};
    FieldType type = FieldType::int32;
    std::uint32_t most_bytes = 0;  ///< Of a text.
    bool is_left_out = false;
    std::string before{};
    std::string after{};
};

/// With an article.
std::string_view value_of(FieldType type) {
    return type == FieldType::int32 ? "an int32" : type == FieldType::float32 ? "a float32" : "a text";
}

/// Of a field's name: "scores", "token_log_probabilities".
std::string plural_of(std::string_view name) {
    constexpr std::string_view vowels = "aeiou";
    const bool has_ies =
        name.size() > 1 && name.back() == 'y' && vowels.find(name[name.size() - 2]) == std::string_view::npos;
    return has_ies ? fmt::format("{}ies", name.substr(0, name.size() - 1)) : fmt::format("{}s", name);
}

std::vector<Column> columns_of(OutputFormat format, std::span<const OutputField> fields) {
    std::vector<Column> columns;
    for (const OutputField& field : fields) {
        for (std::uint32_t i = 0; i < field.count; ++i) {
            Column column{.name = field.is_array() ? fmt::format("{}_{}", field.name, i) : field.name,
                          .type = field.type,
                          .most_bytes = field.most_bytes,
                          .is_left_out = format == OutputFormat::txt && !field.in_txt};
            if (format == OutputFormat::jsonl && i == 0) {
                column.before = field.is_array() ? fmt::format(",\"{}\":[", plural_of(field.name))
                                                 : fmt::format(",\"{}\":", field.name);
            } else if (format == OutputFormat::csv || format == OutputFormat::jsonl) {
                column.before = ',';
            }
            if (format == OutputFormat::jsonl && field.is_array() && i + 1 == field.count) {
                column.after = ']';
            }
            columns.push_back(std::move(column));
        }
    }
    return columns;
}

template <OutputFormat format>
class FormattedRows final : public RowWriter {
public:
    explicit FormattedRows(std::span<const OutputField> fields) : columns_(columns_of(format, fields)) {
        for (const Column& column : columns_) {
            longest_around_ = std::max(longest_around_, column.before.size() + column.after.size());
        }
    }

    void write(const ItemCodec& codec, std::uint64_t first, std::span<const std::byte> results) override {
        const std::size_t result_bytes = codec.shape().output_bytes;
        for (; !results.empty(); results = results.subspan(result_bytes)) {
            begin_row(first++);
            codec.decode(results.first(result_bytes), *this);
            if (next_ != columns_.size()) {
                refuse("no more values");
            }
            end_row();
        }
    }

    void int32(std::int32_t value) override {
        put_value(FieldType::int32, longest_number, [&](char* to) {
            if (format == OutputFormat::npy) {
                std::memcpy(to, &value, sizeof value);
                return to + sizeof value;
            }
            return put_number(value, to);
        });
    }

    void float32(float value) override {
        put_value(FieldType::float32, longest_number, [&](char* to) {
            if (format == OutputFormat::npy) {
                std::memcpy(to, &value, sizeof value);
                return to + sizeof value;
            }
            if (format == OutputFormat::jsonl && !std::isfinite(value)) {
                return put("null", to);
            }
            if (format == OutputFormat::jsonl && value == 0 && std::signbit(value)) {
                return put("-0.0", to);  // "-0" is an integer to Python's json, and loses its sign
            }
            return std::isnan(value) ? put("nan", to) : put_number(value, to);
        });
    }

    void text(std::string_view bytes) override {
        if (format == OutputFormat::npy) {
            put_padded(bytes);
            return;
        }
        put_value(FieldType::text, longest_escape(bytes.size()), [&](char* to) {
            return format == OutputFormat::csv     ? put_csv_text(bytes, to)
                   : format == OutputFormat::jsonl ? put_json_text(bytes, to)
                                                   : put_line_text(bytes, to);
        });
    }

    void missing() override {
        if (next_ == columns_.size()) {
            refuse("a missing value");
        }
        if (format != OutputFormat::npy) {
            put_value(columns_[next_].type, longest_number,
                      [](char* to) { return format == OutputFormat::jsonl ? put("null", to) : to; });
        } else if (columns_[next_].type == FieldType::text) {
            put_padded({});
        } else if (columns_[next_].type == FieldType::int32) {
            int32(missing_int32);
        } else {
            float32(std::numeric_limits<float>::quiet_NaN());
        }
    }

    void fixed(std::span<const std::byte> result) override {
        if (next_ != 0 || result.size() != columns_.size() * value_bytes) {
            refuse(fmt::format("a fixed result of {} bytes", result.size()));
        }
        if (format == OutputFormat::npy) {
            rows_.append(result);
            next_ = columns_.size();
            return;
        }
        for (; !result.empty(); result = result.subspan(value_bytes)) {
            if (columns_[next_].type == FieldType::float32) {
                float32(take<float>(result));
            } else if (const auto value = take<std::int32_t>(result); value != missing_int32) {
                int32(value);
            } else {
                missing();
            }
        }
    }

private:
    template <class Number>
    [[nodiscard]] static Number take(std::span<const std::byte> result) noexcept {
        Number number;
        static_assert(sizeof number == value_bytes);
        std::memcpy(&number, result.data(), sizeof number);
        return number;
    }

    /// `put` writes `longest` characters at most.
    template <class Put>
    void put_value(FieldType type, std::size_t longest, Put&& put_it) {
        if (next_ == columns_.size() || columns_[next_].type != type) {
            refuse(value_of(type));
        }
        const Column& column = columns_[next_++];
        if (column.is_left_out) {
            return;
        }
        char* to = rows_.room(longest_around_ + longest);
        to = put_it(put(column.before, to));
        rows_.end_at(put(column.after, to));
    }

    /// As numpy's S type has it: zeros behind the bytes.
    void put_padded(std::string_view bytes) {
        const std::size_t most = next_ == columns_.size() ? 0 : columns_[next_].most_bytes;
        if (next_ == columns_.size() || bytes.size() > most) {
            refuse(fmt::format("a text of {} bytes", bytes.size()));
        }
        put_value(FieldType::text, most, [&](char* to) {
            std::memset(to, 0, most);
            put(bytes, to);
            return to + most;
        });
    }

    [[noreturn, gnu::cold]] void refuse(std::string_view got) const {
        throw ContractViolation(fmt::format("the app's decode() gives {}, expected {}", got, expected()));
    }

    /// Of the next value.
    [[nodiscard]] std::string expected() const {
        if (next_ == columns_.size()) {
            return "none after column " + columns_.back().name;
        }
        const Column& column = columns_[next_];
        const std::string most = format == OutputFormat::npy && column.type == FieldType::text
                                     ? fmt::format(" of at most {} bytes", column.most_bytes)
                                     : "";
        return fmt::format("{}{} for column {}", value_of(column.type), most, column.name);
    }

    void begin_row(std::uint64_t item) {
        next_ = 0;
        if (format == OutputFormat::csv) {
            rows_.end_at(put_number(item, rows_.room(longest_number)));
        } else if (format == OutputFormat::jsonl) {
            rows_.end_at(put_number(item, put(item_key, rows_.room(item_key.size() + longest_number))));
        }
    }

    void end_row() {
        if (format != OutputFormat::npy) {
            rows_.end_at(put(format == OutputFormat::jsonl ? "}\n" : "\n", rows_.room(2)));
        }
    }

    std::vector<Column> columns_;
    std::size_t longest_around_ = 0;
    std::size_t next_ = 0;  // the column of the next value
};

}  // namespace

void CharBuffer::append(std::span<const std::byte> bytes) {
    char* const to = room(bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    end_at(to + bytes.size());
}

void CharBuffer::grow(std::size_t count) {
    constexpr std::size_t least = 4096;
    const std::size_t capacity = std::max({least, 2 * capacity_, used_ + count});
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (used_ != 0) {
        std::memcpy(larger.get(), chars_.get(), used_);
    }
    chars_ = std::move(larger);
    capacity_ = capacity;
}

std::unique_ptr<RowWriter> make_row_writer(OutputFormat format, std::span<const OutputField> fields) {
    switch (format) {
        case OutputFormat::csv:
            return std::make_unique<FormattedRows<OutputFormat::csv>>(fields);
        case OutputFormat::jsonl:
            return std::make_unique<FormattedRows<OutputFormat::jsonl>>(fields);
        case OutputFormat::txt:
            return std::make_unique<FormattedRows<OutputFormat::txt>>(fields);
        default:
            return std::make_unique<FormattedRows<OutputFormat::npy>>(fields);
    }
}

}  // namespace sluice
