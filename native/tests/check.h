// A test is a list of named cases; a failed CHECK is printed with its place and the program goes on.
#pragma once

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace check {

struct Case {
    const char* name;
    std::function<void()> body;
};

inline int failures = 0;

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Register {
    Register(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

inline void report(bool holds, const char* expression, const char* file, int line, const std::string& note = {}) {
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: failed: %s %s\n", file, line, expression, note.c_str());
}

/// The message of the Error that work() throws; "" when it throws none.
template <typename Error, typename Work>
std::string message_of(Work&& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

inline int run_all() {
    for (const auto& test : cases()) {
        const int before = failures;
        try {
            test.body();
        } catch (const std::exception& error) {
            report(false, "no exception", test.name, 0, error.what());
        }
        std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", test.name);
    }
    std::printf("%zu cases, %d failed checks\n", cases().size(), failures);
    return failures == 0 ? 0 : 1;
}

}  // namespace check

#define TEST(name)                                                 \
    static void test_##name();                                     \
    static const check::Register register_##name{#name, test_##name}; \
    static void test_##name()
#define CHECK(expression) check::report(static_cast<bool>(expression), #expression, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) \
    check::report(std::string_view(text).find(part) != std::string_view::npos, #text " contains " #part, __FILE__, __LINE__, text)
