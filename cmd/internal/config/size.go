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

// shares are the sizes that follow max-bytes if they are not set, in percent of max-bytes less the reserve for readings. The rest is for
// the state, for archives, and for the block files that are written to. The bus has three copies of its size.
var shares = []struct {
	setting string
	percent Size
	least   Size
}{
	{"readings-max-bytes", 40, 0}, {"notifications-max-bytes", 10, 0}, {"events-max-bytes", 10, leastEvents}, {"bus-max-bytes", 2, 1 << 20},
}

// shareOut lowers the sizes that nobody has set to their shares of max-bytes. source is the result of load.
func shareOut(c *Config, source map[string]string) {
	if c.MaxBytes == 0 {
		return
	}
	for _, one := range shares {
		if source[one.setting] != fromDefault {
			continue
		}
		size, _ := c.declared.Lookup(one.setting).Value.(*Size)
		share := max((c.MaxBytes-c.ReadingsReserve())/100*one.percent>>20<<20, one.least) // whole MiB
		if *size == 0 || *size > share {
			*size, source[one.setting] = share, fromMaxBytes
		}
	}
}
