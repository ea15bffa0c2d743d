package access

import (
	"net/http"
	"strings"

	"ledge/domain"
)

// hopHeader names the instances of Ledge that a request has passed. Ledge sets it on what it sends to REST channels and device services.
const hopHeader = "Ledge-Hop"

// HopsOf returns the instances of Ledge that a request has passed.
func HopsOf(r *http.Request) domain.Hops {
	all := r.Header[hopHeader]
	if len(all) == 0 {
		return nil
	}
	return domain.ParseHops(strings.Join(all, ","))
}
