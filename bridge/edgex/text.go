package edgex

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// textEnvelope is the envelope that EdgeX's clients send with Redis and MQTT, in JSON.
type textEnvelope struct {
	jsonEnvelope
	RequestID   string            `json:"requestID"`
	QueryParams map[string]string `json:"queryParams"`
}

// FromText returns the message of a text that a client has published with Redis or MQTT. The envelope of EdgeX becomes headers, which is
// the format nats. A text that is not an envelope is passed on as it is.
func FromText(subject string, text []byte) Message {
	whole := Message{Subject: subject, Data: text}
	var e textEnvelope
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
	return Message{Subject: subject, Header: header, Data: payload}
}

// ToText returns the text of a message for a client of Redis or MQTT: the envelope in JSON, in the version of the sender, with the payload
// in base64, which all versions read. A message without the envelope in headers is passed on as it is.
func ToText(m Message) []byte {
	version, contentType := firstOf(m.Header, "ApiVersion"), firstOf(m.Header, "Content-Type")
	if version == "" || contentType == "" {
		return m.Data
	}
	code, _ := strconv.Atoi(firstOf(m.Header, "ErrorCode"))
	query := map[string]string{}
	for _, pair := range m.Header["QueryParams"] {
		if key, value, ok := strings.Cut(pair, ":"); ok {
			query[key] = value
		}
	}
	e := envelopeOf3{
		APIVersion: version, CorrelationID: firstOf(m.Header, "X-Correlation-ID"), RequestID: firstOf(m.Header, "RequestId"),
		ErrorCode: code, ContentType: contentType, QueryParams: query,
	}
	if len(m.Data) > 0 {
		e.Payload = m.Data
	}
	encode := func() ([]byte, error) { return json.Marshal(e) }
	if version == "v2" {
		encode = func() ([]byte, error) { return json.Marshal(envelopeOf2(e)) }
	}
	text, err := encode()
	if err != nil {
		return m.Data // it cannot be: there are only texts and bytes
	}
	return text
}

type envelopeOf3 struct {
	APIVersion    string            `json:"apiVersion"`
	ReceivedTopic string            `json:"receivedTopic"` // the receiver sets it
	CorrelationID string            `json:"correlationID"`
	RequestID     string            `json:"requestID"`
	ErrorCode     int               `json:"errorCode"`
	Payload       []byte            `json:"payload"`
	ContentType   string            `json:"contentType"`
	QueryParams   map[string]string `json:"queryParams,omitempty"`
}

type envelopeOf2 struct {
	APIVersion    string            `json:"ApiVersion"`
	ReceivedTopic string            `json:"ReceivedTopic"`
	CorrelationID string            `json:"CorrelationID"`
	RequestID     string            `json:"RequestID"`
	ErrorCode     int               `json:"ErrorCode"`
	Payload       []byte            `json:"Payload"`
	ContentType   string            `json:"ContentType"`
	QueryParams   map[string]string `json:"QueryParams"`
}
