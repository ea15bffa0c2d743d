package main

import (
	"fmt"
	"strconv"
	"strings"
)

// size is a number of bytes that is written as 512, 64KiB, 16MiB or 1GiB.
type size int64

var units = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func newSize(p *size, value size) *size { *p = value; return p }

func (s *size) String() string {
	for _, u := range units {
		if n := int64(*s); n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	factor := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = strings.TrimSpace(number), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return fmt.Errorf("is no size; write it as 512, 64KiB, 16MiB or 1GiB")
	}
	*s = size(n * factor)
	return nil
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }
