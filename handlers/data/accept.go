package data

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// wantsCBOR reports whether a request asks for CBOR: by its name, and not less than for JSON (RFC 9110, 12.5.1).
func wantsCBOR(h http.Header) bool {
	weight := map[string]float64{}
	for _, line := range h.Values("Accept") {
		for one := range strings.SplitSeq(line, ",") {
			kind, params, err := mime.ParseMediaType(one)
			if err != nil {
				continue
			}
			weight[kind] = 1
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				weight[kind] = q
			}
		}
	}
	return weight[typeCBOR] > 0 && weight[typeCBOR] >= weight[typeJSON]
}
