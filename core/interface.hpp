#pragma once

namespace sluice {

/// Base of abstract classes: objects behind a pointer or reference to it, which are not copied.
class Interface {
public:
    Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface() = default;
};

}  // namespace sluice
