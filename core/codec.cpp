#include "core/codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.hpp"

namespace sluice {
namespace {

/// Has no use for what the values are otherwise.
class NonfiniteCounter final : public Row {
public:
    explicit NonfiniteCounter(std::span<const OutputField> fields) : fields_(fields) {}
    NonfiniteCounter(const NonfiniteCounter&) = delete;
    NonfiniteCounter& operator=(const NonfiniteCounter&) = delete;
    virtual ~NonfiniteCounter() = default;

    void int32(std::int32_t) override {}
    void float32(float value) override { count_ += std::isfinite(value) ? 0 : 1; }
    void text(std::string_view) override {}
    void missing() override {}
    void fixed(std::span<const std::byte> result) override {
        for (const OutputField& field : fields_) {
            expects(result.size() >= field.count * sizeof(float),
                    "the app's decode() gives a fixed result that is shorter than its columns");
            for (std::uint32_t i = 0; i < field.count && field.type == FieldType::float32; ++i) {
                float value = 0;
                std::memcpy(&value, result.data() + i * sizeof value, sizeof value);
                float32(value);
            }
            result = result.subspan(field.count * sizeof(float));
        }
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
    std::span<const OutputField> fields_;
    std::uint64_t count_ = 0;
};

bool have_floats(std::span<const OutputField> fields) {
    return std::ranges::find(fields, FieldType::float32, &OutputField::type) != fields.end();
}

}  // namespace

ItemProblem ItemCodec::pack_dense(std::span<const float>, std::span<std::byte>) const {
    throw ContractViolation("codec: a dense item for an app that takes none");
}

ItemProblem ItemCodec::pack_integers(std::uint64_t, std::span<const std::int64_t>, std::span<std::byte>) const {
    throw ContractViolation("codec: integers for an app that takes none");
}

bool ItemCodec::counts_nonfinite_items() const {
    return !have_floats(output_fields());
}

std::uint64_t ItemCodec::nonfinite(std::span<const std::byte> results) const {
    const std::vector<OutputField> fields = output_fields();
    if (!have_floats(fields)) {
        return 0;
    }
    NonfiniteCounter counter(fields);
    const std::size_t result_bytes = shape().output_bytes;
    for (; !results.empty(); results = results.subspan(result_bytes)) {
        decode(results.first(result_bytes), counter);
    }
    return counter.count();
}

void ItemCodec::write_missing(std::span<std::byte> result) const {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (const OutputField& field : output_fields()) {
        expects(field.type != FieldType::text, "an app with text says itself what an item without a result is");
        for (std::uint32_t i = 0; i < field.count; ++i) {
            const auto value = field.type == FieldType::int32 ? std::as_bytes(std::span(&missing_int32, 1))
                                                              : std::as_bytes(std::span(&nan, 1));
            expects(result.size() >= value.size(), "a result is as long as its fields");
            std::ranges::copy(value, result.begin());
            result = result.subspan(value.size());
        }
    }
}

}  // namespace sluice
