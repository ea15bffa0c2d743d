package node

import (
	"ledge/domain"
	"ledge/projections"
)

// FindNewest returns the newest of the readings that refer to a payload, and how many there are.
func FindNewest(v *projections.View, digest string) (r domain.Reading, n int, err error) {
	list, n, err := v.Readings(domain.Page{Limit: 1}, domain.Filter{Index: domain.IndexDigest, Value: digest})
	if len(list) > 0 {
		r = list[0]
	}
	return r, n, err
}
