#include "apps/gpt2/side_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/input/lfs_pointer.hpp"
#include "core/weights/weights_file.hpp"

namespace sluice::gpt2 {
namespace {

constexpr std::size_t deepest_json = 16;

[[noreturn]] void refuse_from(std::size_t byte, const SideFile& file, const SideFileErrors& errors) {
    refuse_side_file(errors, file.where, fmt::format("no JSON from byte {} on", byte));
}

/// Looks for what the parser would accept, in linear time: a callback that it asks would take quadratic time for a list
/// of objects. Stops where the text is no JSON, which the parser then says.
class StrictnessCheck final : public nlohmann::json_sax<nlohmann::json> {
public:
    [[nodiscard]] bool is_too_deep() const { return keys_.size() > deepest_json; }
    [[nodiscard]] const std::optional<std::string>& repeated_key() const { return repeated_; }

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return begin(); }
    bool start_array(std::size_t) override { return begin(); }
    bool end_object() override { return end(); }
    bool end_array() override { return end(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

    bool key(string_t& name) override {
        if (!keys_.back().insert(name).second) {
            repeated_ = name;
        }
        return !repeated_;
    }

private:
    bool begin() {
        keys_.emplace_back();
        return !is_too_deep();
    }
    bool end() {
        keys_.pop_back();
        return true;
    }

    std::vector<std::unordered_set<std::string>> keys_;  // of the objects and lists that are open
    std::optional<std::string> repeated_;
};

}  // namespace

void refuse_side_file(const SideFileErrors& errors, const std::string& where, std::string what) {
    throw Error(
        ExitCode::bad_data,
        {.id = std::string(errors.id), .where = where, .what = std::move(what), .hint = std::string(errors.hint)});
}

SideFile read_side_file(const std::filesystem::path& path, const SideFileErrors& errors, std::uint64_t most) {
    const WeightsFile file(path);
    if (file.size() > most) {
        refuse_side_file(errors, file.where(), fmt::format("got {} bytes, expected at most {}", file.size(), most));
    }
    if (file.size() == 0) {
        refuse_side_file(errors, file.where(), "is empty");
    }
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    file.check_unchanged();
    if (is_lfs_pointer(text)) {
        refuse_side_file({errors.id, "run git lfs pull"}, file.where(), "this is a Git LFS pointer, not the file");
    }
    return {std::move(text), file.where()};
}

nlohmann::json parse_json(const SideFile& file, const SideFileErrors& errors) {
    StrictnessCheck check;
    nlohmann::json::sax_parse(file.text, &check);
    if (check.is_too_deep()) {
        refuse_side_file(errors, file.where, fmt::format("JSON that is nested deeper than {}", deepest_json));
    }
    if (check.repeated_key()) {
        refuse_side_file(errors, file.where, fmt::format("has the key {} twice", quoted(*check.repeated_key())));
    }
    if (const std::size_t zero = file.text.find('\0'); zero != std::string::npos) {  // the parser would end there
        refuse_from(zero + 1, file, errors);
    }
    try {
        return nlohmann::json::parse(file.text);
    } catch (const nlohmann::json::parse_error& error) {
        refuse_from(error.byte, file, errors);
    } catch (const nlohmann::json::out_of_range&) {
        refuse_side_file(errors, file.where, "has a number that is too large");
    }
}

}  // namespace sluice::gpt2
