// What is used of the C library, so that only the compiler's own headers are needed.
#pragma once

#include <stddef.h>

void* calloc(size_t count, size_t size);
void* malloc(size_t size);
void* realloc(void* memory, size_t size);
void free(void* memory);
void* memcpy(void* restrict to, const void* restrict from, size_t size);
void* memmove(void* to, const void* from, size_t size);
void* memset(void* memory, int value, size_t size);
char* strcpy(char* restrict to, const char* restrict from);
char* strncpy(char* restrict to, const char* restrict from, size_t size);
char* strdup(const char* text);
int snprintf(char* restrict to, size_t size, const char* restrict format, ...);
