package config

import (
	"strconv"

	"ledge/domain"
)

// Size is a number of bytes that is written as 512, 64KiB, 16M or 10G. It is a pflag.Value.
type Size int64

func newSize(p *Size, value Size) *Size { *p = value; return p }

func (s Size) String() string {
	for _, u := range domain.SizeUnits {
		if n := int64(s); n > 0 && n%u.Bytes == 0 {
			return strconv.FormatInt(n/u.Bytes, 10) + u.Suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	n, err := domain.ParseSize(text)
	if err != nil {
		return err
	}
	*s = Size(n)
	return nil
}

// Type implements pflag.Value.
func (s *Size) Type() string { return "size" }
