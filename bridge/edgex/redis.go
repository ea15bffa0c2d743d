package edgex

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// redisEnvelope is the envelope that EdgeX's clients publish with Redis, in JSON.
type redisEnvelope struct {
	jsonEnvelope
	RequestID   string            `json:"requestID"`
	QueryParams map[string]string `json:"queryParams"`
}

// FromRedis returns the message of a text that a client has published with Redis. The envelope of EdgeX becomes headers, which is the
// format nats. A text that is not an envelope is passed on as it is.
func FromRedis(channel string, text []byte) Message {
	whole := Message{Subject: channel, Data: text}
	var e redisEnvelope
	if json.Unmarshal(text, &e) != nil || e.ContentType == "" || e.APIVersion == "" {
		return whole
	}
	payload := []byte(e.Payload)
	switch {
	case bytes.HasPrefix(payload, []byte(`"`)): // EdgeX 4.0 sends JSON as it is
		data, err := fromBase64(e.Payload)
		if err != nil {
			return whole
		}
		payload = data
	case string(payload) == "null":
		payload = nil
	}
	header := map[string][]string{
		"ApiVersion": {e.APIVersion}, "Content-Type": {e.ContentType}, "ErrorCode": {strconv.Itoa(e.ErrorCode)},
		"RequestId": {e.RequestID}, "X-Correlation-ID": {e.CorrelationID},
	}
	for _, key := range slices.Sorted(maps.Keys(e.QueryParams)) {
		header["QueryParams"] = append(header["QueryParams"], key+":"+e.QueryParams[key])
	}
	return Message{Subject: channel, Header: header, Data: payload}
}
