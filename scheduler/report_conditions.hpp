#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Something that the reports state differently, as text; empty: a report does not state it.
struct Difference {
    std::string name;
    std::string before{};
    std::string after{};
};

/// Names of differences in what the input and the weights hold, wherever they lie.
inline constexpr std::string_view input_identity = "identity of input";
inline constexpr std::string_view weights_identity = "identity of model.weights";

/// What differs between two runs in settings, input, program, machines, devices, chunks and how they ended, by their
/// reports. Pure. Throws nlohmann::json::exception where one has another shape.
[[nodiscard]] std::vector<Difference> different_conditions(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace sluice
