#include "core/input/npy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/input/number_type.hpp"

namespace sluice {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::size_t alignment = 64;             // of the data, as NumPy writes it since version 1.14
constexpr std::size_t longest_header = 64 << 10;  // a real one has about 100 bytes
constexpr std::size_t most_dimensions = 32;       // NumPy's own limit up to version 1
constexpr char const* bad_header = "E-INP-031";

/// Reads the Python dictionary of the header: exactly the keys descr, fortran_order and shape, once each, in any order.
class DictReader {
public:
    DictReader(const InputFile& file, std::string_view text, NpyElements expected)
        : file_(file), rest_(text), expected_(expected) {}

    NpyHeader read() {
        need('{');
        while (!accept('}')) {
            read_entry();
            if (!accept(',')) {
                need('}');
                break;
            }
        }
        skip_space();
        if (!rest_.empty() || !descr_ || !fortran_order_ || !shape_) {
            refuse(rest_.empty() ? "descr, fortran_order or shape is missing" : "bytes after its dictionary");
        }
        if (*fortran_order_) {
            file_.reject(bad_header, "the array is in Fortran order (expected C order)",
                         "save it with numpy.ascontiguousarray");
        }
        return {*descr_, *shape_, 0};
    }

private:
    void read_entry() {
        const std::string key = read_string();
        need(':');
        if (key == "descr" && !descr_) {
            descr_ = read_descr();
        } else if (key == "fortran_order" && !fortran_order_) {
            fortran_order_ = read_bool();
        } else if (key == "shape" && !shape_) {
            shape_ = read_shape();
        } else {
            refuse(fmt::format("unexpected key {}", sluice::quoted(key)));
        }
    }

    std::string read_descr() {
        skip_space();
        const bool takes_integers = expected_ == NpyElements::integers;
        if (rest_.starts_with('[')) {
            file_.reject(bad_header,
                         fmt::format("the array has a structured type (expected {})",
                                     takes_integers ? "integers" : "'<f4' or '|u1'"),
                         fmt::format("save one plain array of {}", takes_integers ? "int32" : "float32 or uint8"));
        }
        std::string descr = read_string();
        if (descr == "<u1" || descr == "<i1") {  // a byte has no order, but writers such as cnpy give it one
            descr.front() = '|';
        }
        if (takes_integers) {
            if (!find_integer_type(descr)) {
                file_.reject(bad_header,
                             fmt::format("element type {} (expected integers, such as '<i4')", sluice::quoted(descr)),
                             "save it as little-endian int32");
            }
            return descr;
        }
        if (descr != "<f4" && descr != "|u1") {
            file_.reject(bad_header, fmt::format("element type {} (expected '<f4' or '|u1')", sluice::quoted(descr)),
                         "save it as little-endian float32, or as uint8 in packed form");
        }
        return descr;
    }

    std::string read_string() {
        skip_space();
        if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
            refuse("a string was expected");
        }
        const std::size_t end = rest_.find(rest_.front(), 1);
        if (end == std::string_view::npos) {
            refuse("a string does not end");
        }
        std::string value(rest_.substr(1, end - 1));
        if (value.find('\\') != std::string::npos) {
            refuse("a string with a backslash");
        }
        rest_.remove_prefix(end + 1);
        return value;
    }

    bool read_bool() {
        skip_space();
        for (const std::string_view word : {"True", "False"}) {
            if (rest_.starts_with(word)) {
                rest_.remove_prefix(word.size());
                return word == "True";
            }
        }
        refuse("fortran_order is neither True nor False");
    }

    std::vector<std::uint64_t> read_shape() {
        std::vector<std::uint64_t> shape;
        need('(');
        bool comma = false;
        while (!accept(')')) {
            if (!shape.empty() && !comma) {
                refuse("the shape lacks a comma");
            }
            shape.push_back(read_number());
            if (shape.size() > most_dimensions) {
                refuse(fmt::format("more than {} dimensions", most_dimensions));
            }
            comma = accept(',');
        }
        if (shape.size() == 1 && !comma) {
            refuse("the shape is not a tuple");
        }
        return shape;
    }

    std::uint64_t read_number() {
        skip_space();
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error == std::errc::result_out_of_range) {
            refuse("a dimension beyond 2^64");
        }
        const auto digits = static_cast<std::size_t>(end - rest_.data());
        if (digits == 0 || (digits > 1 && rest_.front() == '0')) {
            refuse("a dimension is not a number");
        }
        rest_.remove_prefix(digits);
        return value;
    }

    void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n\f"), rest_.size())); }

    bool accept(char wanted) {
        skip_space();
        if (!rest_.starts_with(wanted)) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }

    void need(char wanted) {
        if (!accept(wanted)) {
            refuse(fmt::format("'{}' was expected before {}", wanted, sluice::quoted(rest_)));
        }
    }

    [[noreturn]] void refuse(const std::string& problem) const {
        file_.reject(bad_header, "not a valid .npy header: " + problem, "save the array again with numpy.save");
    }

    const InputFile& file_;
    std::string_view rest_;
    NpyElements expected_;
    std::optional<std::string> descr_;
    std::optional<bool> fortran_order_;
    std::optional<std::vector<std::uint64_t>> shape_;
};

std::string type_of(const OutputField& field) {
    if (field.type == FieldType::text) {
        expects(field.most_bytes != 0, "a text in an array has a greatest length");
        return fmt::format("|S{}", field.most_bytes);
    }
    return field.type == FieldType::int32 ? "<i4" : "<f4";
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file, NpyElements expected) {
    constexpr std::size_t version_at = magic.size();
    constexpr std::size_t length_at = version_at + 2;
    std::array<char, length_at + 4> start = {};
    const std::size_t shortest = length_at + 2;
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(start.size(), file.size()));
    file.read(0, std::as_writable_bytes(std::span(start).first(bytes)));
    const bool is_npy = std::string_view(start.data(), bytes).starts_with(magic);
    if (is_npy && bytes < shortest) {
        file.reject(bad_header, fmt::format("an .npy file that ends after {} bytes, within its header", bytes),
                    "copy or save the file again");
    }
    if (!is_npy) {
        file.reject(bad_header, "not an .npy file (its first bytes are not \\x93NUMPY)", "check [input].format");
    }
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(start[at]); };
    const unsigned major = byte(version_at);
    const unsigned minor = byte(version_at + 1);
    if (major < 1 || major > 3 || minor != 0) {
        file.reject(bad_header, fmt::format(".npy version {}.{} (expected 1.0, 2.0 or 3.0)", major, minor),
                    "save the array again with numpy.save");
    }
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) {
        length |= std::uint64_t{byte(length_at + i)} << (8 * i);
    }
    const std::uint64_t dict_at = length_at + length_bytes;
    if (length > longest_header || dict_at > file.size() || length > file.size() - dict_at) {
        file.reject(bad_header,
                    fmt::format("the .npy header claims {} bytes (the file has {}, at most {} are allowed)", length,
                                file.size(), longest_header),
                    "save the array again with numpy.save");
    }
    std::string text(static_cast<std::size_t>(length), '\0');
    file.read(dict_at, std::as_writable_bytes(std::span(text)));
    NpyHeader header = DictReader(file, text, expected).read();
    header.data_offset = dict_at + length;
    return header;
}

std::string make_npy_header(std::span<const OutputField> fields, std::uint64_t items) {
    std::string descr;
    std::string shape = fmt::format("({},)", items);
    if (fields.size() == 1) {
        descr = fmt::format("'{}'", type_of(fields.front()));
        shape = fields.front().is_array() ? fmt::format("({}, {})", items, fields.front().count) : shape;
    } else {
        std::vector<std::string> members;
        for (const OutputField& field : fields) {
            members.push_back(field.is_array()
                                  ? fmt::format("('{}', '{}', ({},))", field.name, type_of(field), field.count)
                                  : fmt::format("('{}', '{}')", field.name, type_of(field)));
        }
        descr = fmt::format("[{}]", fmt::join(members, ", "));
    }
    std::string dict = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", descr, shape);
    const std::size_t before = magic.size() + 4;  // version and a length of two bytes
    const std::size_t whole = (before + dict.size() + 1 + alignment - 1) / alignment * alignment;
    dict.append(whole - before - dict.size() - 1, ' ');
    dict += '\n';
    expects(dict.size() <= UINT16_MAX, "the output fields fit into an .npy header of version 1.0");
    std::string header(magic);
    header += {'\x01', '\x00', static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
    return header + dict;
}

}  // namespace sluice
