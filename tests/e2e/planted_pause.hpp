#pragma once

namespace sluice::test {

/// Whether threads ran as soon as they could while a stage paused for `pause` seconds a chunk of `items`, for which its
/// report has `capacity` items a second: the pauses were hardly longer. On a machine so busy that they were, stages
/// wait for each other, and none may bind.
[[nodiscard]] inline bool ran_at_once(double pause, double items, double capacity) {
    return items / capacity - pause < pause / 16;
}

}  // namespace sluice::test
