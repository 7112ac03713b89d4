#pragma once

namespace sluice {

constexpr double mebi = 1024.0 * 1024.0;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;

}  // namespace sluice
