package domain

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SizeUnits are what sizes are written with, the largest first.
var SizeUnits = []struct {
	Suffix string
	Bytes  int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads a number of bytes that is written as 512, 64K, 16MiB or 10G. K, M, G and T are powers of 1024, as for systemd.
func ParseSize(text string) (int64, error) {
	factor := int64(1)
	for _, u := range SizeUnits {
		number, whole := strings.CutSuffix(text, u.Suffix)
		if !whole {
			number, whole = strings.CutSuffix(text, u.Suffix[:1])
		}
		if whole {
			text, factor = strings.TrimSpace(number), u.Bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, errors.New("is not a size; write it as 512, 64KiB, 16M or 10G, which are powers of 1024")
	}
	return n * factor, nil
}

// MaxBodyBytes is the attribute by which a resource has a limit of its own for posted bodies.
const MaxBodyBytes = "maxBodyBytes"

// BodyLimit is how many bytes a body may have that is posted to the resource: what its attribute maxBodyBytes says, a whole
// number or a text such as "10MiB", else usual. Attributes belong to whoever wrote the profile, so that a profile is
// taken whatever they are; one that is not a size is an Invalid Error here.
func (r DeviceResource) BodyLimit(usual int64) (limit int64, own bool, err error) {
	value, ok := r.Attributes[MaxBodyBytes]
	if !ok {
		return usual, false, nil
	}
	switch v := value.(type) {
	case string:
		limit, err = ParseSize(v)
	case float64: // as JSON has it
		if limit = int64(v); v != math.Trunc(v) || v >= 1<<62 {
			limit = 0
		}
	case int: // as YAML has it
		limit = int64(v)
	}
	if err != nil || limit < 1 {
		return 0, false, Errorf(Invalid, `resource %q: its attribute %s is %v in the profile, which is not a size above 0; write it there as 10485760 or "10MiB"`, r.Name, MaxBodyBytes, quote(fmt.Sprint(value)))
	}
	return limit, true, nil
}

// largeText is the size from which on an entity is large, in bytes of JSON: the memory that it takes while it is in work matters.
const largeText = 16 << 10

// A large entity in work is in memory as its text, decoded, and as the text of the answer, which grows while it is written. Each entry of
// its lists and objects takes so many bytes beside that, and each object: a mapping has place for eight entries.
const (
	copiesInWork = 3
	entryInWork  = 100
	objectInWork = 400
)

// SizeInWork returns about the memory of an entity while it is read and written as JSON, in bytes. Each entry but the first of a list or an
// object comes after a comma; other commas may be in texts.
func SizeInWork(text []byte) int {
	if len(text) <= largeText {
		return len(text)
	}
	return copiesInWork*len(text) + entryInWork*bytes.Count(text, []byte(",")) + objectInWork*bytes.Count(text, []byte("{"))
}
