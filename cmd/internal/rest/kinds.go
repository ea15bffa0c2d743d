package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"ledge/cmd/internal/services"
)

// Kind is a kind of entity in the REST API.
type Kind struct {
	Service, Path string
	// Key is the name of an entity in requests and answers, List the name of a list.
	Key, List string
	// Replaced says that a change replaces the whole entity.
	Replaced bool
	// Columns are the fields in a table.
	Columns []string
}

// Kinds are the kinds by their names in histories.
var Kinds = map[string]Kind{
	"device": {
		services.Metadata, "/api/v2/device", "device", "devices", false,
		[]string{"name", "profileName", "serviceName", "adminState", "operatingState", "labels"},
	},
	"profile": {
		services.Metadata, "/api/v2/deviceprofile", "profile", "profiles", true,
		[]string{"name", "manufacturer", "model", "labels", "description"},
	},
	"service": {
		services.Metadata, "/api/v2/deviceservice", "service", "services", false,
		[]string{"name", "baseAddress", "adminState", "labels"},
	},
	"watcher": {
		services.Metadata, "/api/v2/provisionwatcher", "provisionWatcher", "provisionWatchers", false,
		[]string{"name", "profileName", "serviceName", "adminState", "labels"},
	},
	"subscription": {
		services.Notifications, "/api/v2/subscription", "subscription", "subscriptions", false,
		[]string{"name", "receiver", "adminState", "categories", "labels"},
	},
}

// Readings is the list of readings.
var Readings = Kind{
	Service: services.Data, Path: "/api/v2/reading", List: "readings",
	Columns: []string{"origin", "deviceName", "resourceName", "valueType", "value"},
}

// PathOf returns the path of an entity.
func (k Kind) PathOf(name string) string { return k.Path + "/name/" + url.PathEscape(name) }

// mostOfPage is how many entities are asked for at a time.
const mostOfPage = 500

// List calls f with at most so many entities of a list, 0 for all of them, in the order of the list.
func (a *API) List(ctx context.Context, k Kind, path string, query url.Values, most int, f func(map[string]any) error) error {
	for offset := 0; most == 0 || offset < most; {
		limit := mostOfPage
		if most > 0 {
			limit = min(limit, most-offset)
		}
		query.Set("offset", fmt.Sprint(offset))
		query.Set("limit", fmt.Sprint(limit))
		var answer map[string]json.RawMessage
		if _, err := a.Do(ctx, Call{Method: http.MethodGet, Service: k.Service, Path: path + "?" + query.Encode()}, &answer); err != nil {
			return err
		}
		var total int
		page, err := DecodeFields[[]map[string]any](answer[k.List])
		if err := cmp.Or(err, json.Unmarshal(answer["totalCount"], &total)); err != nil {
			return fmt.Errorf("read the answer of %s: %w", k.Service, err)
		}
		for _, one := range page {
			if err := f(one); err != nil {
				return err
			}
		}
		if offset += len(page); len(page) == 0 || offset >= total {
			break
		}
	}
	return nil
}

// CopyCSV copies at most so many entities of a list as CSV, 0 for all of them, in the order of the list. The list of the service must have
// CSV.
func (a *API) CopyCSV(ctx context.Context, k Kind, path string, query url.Values, most int, to io.Writer) error {
	accept := "text/csv"
	for offset := 0; most == 0 || offset < most; offset += mostOfPage {
		limit := mostOfPage
		if most > 0 {
			limit = min(limit, most-offset)
		}
		query.Set("offset", fmt.Sprint(offset))
		query.Set("limit", fmt.Sprint(limit))
		n, err := a.Copy(ctx, Call{Method: http.MethodGet, Service: k.Service, Path: path + "?" + query.Encode(), Accept: accept}, to)
		refused, is := errors.AsType[*Refusal](err)
		switch {
		case is && offset > 0 && refused.Status == http.StatusRequestedRangeNotSatisfiable: // entities were removed meanwhile
			return nil
		case err != nil:
			return err
		case offset > 0 && n == 0:
			return nil
		}
		accept = "text/csv;header=absent"
	}
	return nil
}

// DecodeFields decodes JSON. Whole numbers are int64, which YAML and JSON write with all digits.
func DecodeFields[T any](text []byte) (value T, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&value); err != nil {
		return value, err
	}
	return plainNumbers(value).(T), nil
}

// plainNumbers replaces the numbers in a value of JSON.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // the largest for one that is too large
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case []map[string]any:
		for i := range v {
			plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return value
}
