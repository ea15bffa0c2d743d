// Dataclient is a client of core-data on EdgeX's own Go clients: it adds events, reads them back in every way that the
// clients have, and removes them. TEST_LEDGE_CA and TEST_LEDGE_TOKEN are for a server in secure mode. It exits with an error that says what is not as it should be.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	clients "github.com/edgexfoundry/go-mod-core-contracts/v2/clients/http"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/clients/interfaces"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos/requests"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos/responses"
)

func main() {
	if err := trust(os.Getenv("TEST_LEDGE_CA"), os.Getenv("TEST_LEDGE_TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c := client{clients.NewEventClient(os.Args[1]), clients.NewReadingClient(os.Args[1])}
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// withToken sends a token with each request.
type withToken struct {
	http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.RoundTripper.RoundTrip(r)
}

// trust has EdgeX's clients, which use http.DefaultTransport, trust the CA in a file and send a token.
func trust(ca, token string) error {
	if ca == "" {
		return nil
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	http.DefaultTransport = withToken{&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, token}
	return nil
}

type client struct {
	events   interfaces.EventClient
	readings interfaces.ReadingClient
}

// picture is longer than what is kept on the log itself.
var picture = bytes.Repeat([]byte("\xff\xd8\x00\xd9"), 100_000)

const device = "hall-sdk"

func (c client) run(ctx context.Context) error {
	first, err := c.add(ctx, "room")
	if err == nil {
		_, err = c.add(ctx, device)
	}
	if err == nil {
		err = c.readEvents(ctx, first)
	}
	if err == nil {
		err = c.readReadings(ctx)
	}
	if err == nil {
		err = c.remove(ctx)
	}
	return err
}

// add adds an event with readings of each kind: the client sends it as CBOR, since one of them is binary.
func (c client) add(ctx context.Context, device string) (id string, err error) {
	e := dtos.NewEvent("climate", device, "everything")
	if err := e.AddSimpleReading("temperature", "Float32", float32(21.5)); err != nil {
		return "", err
	}
	if err := e.AddSimpleReading("levels", "Int16Array", []int16{1, -2}); err != nil {
		return "", err
	}
	e.AddBinaryReading("image", picture, "image/jpeg")
	e.AddObjectReading("state", map[string]interface{}{"fan": "on", "speeds": []int{1, 2}})
	e.Tags = map[string]interface{}{"site": "north"}
	answer, edgexErr := c.events.Add(ctx, requests.NewAddEventRequest(e))
	if edgexErr != nil {
		return "", edgexErr
	}
	if answer.Id != e.Id || answer.StatusCode != 201 {
		return "", fmt.Errorf("add: got %+v, want %s", answer, e.Id)
	}
	return e.Id, nil
}

func (c client) readEvents(ctx context.Context, first string) error {
	now := int(time.Now().UnixNano())
	for name, ask := range map[string]struct {
		want int
		list func() (responses.MultiEventsResponse, error)
	}{
		"AllEvents": {2, func() (responses.MultiEventsResponse, error) { return no(c.events.AllEvents(ctx, 0, 10)) }},
		"a page":    {1, func() (responses.MultiEventsResponse, error) { return no(c.events.AllEvents(ctx, 1, 1)) }},
		"EventsByDeviceName": {1, func() (responses.MultiEventsResponse, error) {
			return no(c.events.EventsByDeviceName(ctx, "room", 0, 10))
		}},
		"EventsByTimeRange": {2, func() (responses.MultiEventsResponse, error) {
			return no(c.events.EventsByTimeRange(ctx, 0, now, 0, -1))
		}},
	} {
		got, err := ask.list()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(got.Events) != ask.want {
			return fmt.Errorf("%s: got %d events, want %d", name, len(got.Events), ask.want)
		}
		for _, e := range got.Events {
			if err := check(e.Readings); err != nil || len(e.Readings) != 4 || e.Tags["site"] != "north" {
				return fmt.Errorf("%s: got %d readings, tags %v: %v", name, len(e.Readings), e.Tags, err)
			}
		}
	}
	all, err := c.events.EventCount(ctx)
	if err != nil || all.Count != 2 {
		return fmt.Errorf("EventCount: got %+v, %v", all, err)
	}
	one, err := c.events.EventCountByDeviceName(ctx, "room")
	if err != nil || one.Count != 1 {
		return fmt.Errorf("EventCountByDeviceName: got %+v, %v", one, err)
	}
	return nil
}

func (c client) readReadings(ctx context.Context) error {
	type list = responses.MultiReadingsResponse
	now := int(time.Now().UnixNano())
	for name, ask := range map[string]struct {
		want int
		list func() (list, error)
	}{
		"AllReadings":            {8, func() (list, error) { return no(c.readings.AllReadings(ctx, 0, 10)) }},
		"ReadingsByDeviceName":   {4, func() (list, error) { return no(c.readings.ReadingsByDeviceName(ctx, "room", 0, 10)) }},
		"ReadingsByResourceName": {2, func() (list, error) { return no(c.readings.ReadingsByResourceName(ctx, "image", 0, 10)) }},
		"ReadingsByTimeRange":    {8, func() (list, error) { return no(c.readings.ReadingsByTimeRange(ctx, 0, now, 0, 10)) }},
		"ReadingsByResourceNameAndTimeRange": {2, func() (list, error) {
			return no(c.readings.ReadingsByResourceNameAndTimeRange(ctx, "state", 0, now, 0, 10))
		}},
		"ReadingsByDeviceNameAndResourceName": {1, func() (list, error) {
			return no(c.readings.ReadingsByDeviceNameAndResourceName(ctx, "room", "levels", 0, 10))
		}},
		"ReadingsByDeviceNameAndResourceNameAndTimeRange": {1, func() (list, error) {
			return no(c.readings.ReadingsByDeviceNameAndResourceNameAndTimeRange(ctx, "room", "levels", 0, now, 0, 10))
		}},
		"ReadingsByDeviceNameAndResourceNamesAndTimeRange": {2, func() (list, error) {
			return no(c.readings.ReadingsByDeviceNameAndResourceNamesAndTimeRange(ctx, "room", []string{"image", "state"}, 0, now, 0, 10))
		}},
		"of no resources": {4, func() (list, error) {
			return no(c.readings.ReadingsByDeviceNameAndResourceNamesAndTimeRange(ctx, "room", nil, 0, now, 0, 10))
		}},
	} {
		got, err := ask.list()
		if err == nil {
			err = check(got.Readings)
		}
		if err != nil || len(got.Readings) != ask.want || int(got.TotalCount) != ask.want {
			return fmt.Errorf("%s: got %d readings of %d, want %d: %v", name, len(got.Readings), got.TotalCount, ask.want, err)
		}
	}
	all, err := c.readings.ReadingCount(ctx)
	if err != nil || all.Count != 8 {
		return fmt.Errorf("ReadingCount: got %+v, %v", all, err)
	}
	one, err := c.readings.ReadingCountByDeviceName(ctx, device)
	if err != nil || one.Count != 4 {
		return fmt.Errorf("ReadingCountByDeviceName: got %+v, %v", one, err)
	}
	return nil
}

// check holds that values are what was added.
func check(readings []dtos.BaseReading) error {
	for _, r := range readings {
		ok := r.ProfileName == "climate" && r.Id != "" && r.Origin > 0
		switch r.ResourceName {
		case "temperature":
			ok = ok && r.ValueType == "Float32" && r.Value == "2.150000e+01"
		case "levels":
			ok = ok && r.ValueType == "Int16Array" && r.Value == "[1, -2]"
		case "image":
			ok = ok && r.ValueType == "Binary" && r.MediaType == "image/jpeg" && bytes.Equal(r.BinaryValue, picture)
		case "state":
			ok = ok && r.ValueType == "Object" && fmt.Sprint(r.ObjectValue) == "map[fan:on speeds:[1 2]]"
		}
		if !ok {
			return fmt.Errorf("reading %s of %s: got %s %q, %d bytes, %v", r.ResourceName, r.DeviceName, r.ValueType, r.Value, len(r.BinaryValue), r.ObjectValue)
		}
	}
	return nil
}

// remove removes the events of one device, and then all that are left.
func (c client) remove(ctx context.Context) error {
	answer, err := c.events.DeleteByDeviceName(ctx, device)
	if err != nil || answer.StatusCode != 202 {
		return fmt.Errorf("DeleteByDeviceName: got %+v, %v", answer, err)
	}
	if err := c.await(ctx, 1); err != nil {
		return err
	}
	if answer, err = c.events.DeleteByAge(ctx, 0); err != nil || answer.StatusCode != 202 {
		return fmt.Errorf("DeleteByAge: got %+v, %v", answer, err)
	}
	return c.await(ctx, 0)
}

// await waits until so many events are left.
func (c client) await(ctx context.Context, want uint32) error {
	for deadline := time.Now().Add(time.Minute); ; {
		got, err := c.events.EventCount(ctx)
		if err != nil {
			return err
		}
		if got.Count == want {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("got %d events, want %d", got.Count, want)
		}
	}
}

// no makes an ordinary error of one of EdgeX's, which is an interface of its own.
func no[T any, E error](v T, err E) (T, error) {
	if any(err) == nil {
		return v, nil
	}
	return v, err
}
