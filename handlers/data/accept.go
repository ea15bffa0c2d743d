package data

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// accepted are the media types in the Accept of a request, with their weights (RFC 9110, 12.5.1).
type accepted struct {
	weight map[string]float64
	// noHeader is that the client wants CSV without a row of names: text/csv with header=absent (RFC 4180, 3).
	noHeader bool
}

func acceptedBy(h http.Header) accepted {
	a := accepted{weight: map[string]float64{}}
	for _, line := range h.Values("Accept") {
		for one := range strings.SplitSeq(line, ",") {
			kind, params, err := mime.ParseMediaType(one)
			if err != nil {
				continue
			}
			a.weight[kind] = 1
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				a.weight[kind] = q
			}
			if kind == typeCSV {
				a.noHeader = params["header"] == "absent"
			}
		}
	}
	return a
}

// prefersType reports whether a client names a type, and likes none of the others more.
func (a accepted) prefersType(kind string, others ...string) bool {
	for _, other := range others {
		if a.weight[other] > a.weight[kind] {
			return false
		}
	}
	return a.weight[kind] > 0
}

// wantsCBOR reports whether a request asks for CBOR: by its name, and not less than for JSON.
func wantsCBOR(h http.Header) bool { return acceptedBy(h).prefersType(typeCBOR, typeJSON) }
