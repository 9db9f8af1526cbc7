// SPDX-License-Identifier: MIT
// main.cpp -- a C++17 program that records its own events; built against the installed library.
#include <string>
#include "events.h"
extern "C" {
#include "fathom_user.h"
}

int main()
{
	const std::string what = "step";

	fathom_user_start("events=*,out=trace.dat");
	for (unsigned i = 0; i < 10; i++)
		trace_step(i, (what + std::to_string(i)).c_str());
}
