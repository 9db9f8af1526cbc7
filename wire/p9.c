/* SPDX-License-Identifier: MIT */
/* p9.c -- error numbers as the text of a 9P Rerror, and back. */
#include "wire/p9.h"

static const struct {
	int number;
	const char *text;
} p9_errors[] = {
	{1, "Operation not permitted"},
	{2, "No such file or directory"},
	{3, "No such process"},
	{4, "Interrupted system call"},
	{5, "Input/output error"},
	{7, "Argument list too long"},
	{9, "Bad file descriptor"},
	{11, "Resource temporarily unavailable"},
	{12, "Cannot allocate memory"},
	{13, "Permission denied"},
	{14, "Bad address"},
	{16, "Device or resource busy"},
	{17, "File exists"},
	{19, "No such device"},
	{20, "Not a directory"},
	{21, "Is a directory"},
	{22, "Invalid argument"},
	{23, "Too many open files in system"},
	{25, "Inappropriate ioctl for device"},
	{27, "File too large"},
	{28, "No space left on device"},
	{29, "Illegal seek"},
	{30, "Read-only file system"},
	{34, "Numerical result out of range"},
	{36, "File name too long"},
	{38, "Function not implemented"},
	{39, "Directory not empty"},
	{71, "Protocol error"},
	{75, "Value too large for defined data type"},
	{84, "Invalid or incomplete multibyte or wide character"},
	{90, "Message too long"},
	{95, "Operation not supported"},
};
#define P9_ERRORS (sizeof(p9_errors) / sizeof(p9_errors[0]))

const char *fathom_p9_error_text(int error)
{
	for (size_t i = 0; i < P9_ERRORS; i++)
		if (p9_errors[i].number == error)
			return p9_errors[i].text;
	return "Input/output error";
}

int fathom_p9_error_number(const char *text, size_t len)
{
	for (size_t i = 0; i < P9_ERRORS; i++) {
		const char *t = p9_errors[i].text;
		size_t n = 0;

		while (n < len && t[n] && t[n] == text[n])
			n++;
		if (n == len && !t[n])
			return p9_errors[i].number;
	}
	return 5;
}
