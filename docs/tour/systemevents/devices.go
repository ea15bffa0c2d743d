package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// devices are all devices that are known whole, by name.
type devices struct {
	metadata string // the address of core-metadata
	known    map[string]object
	asked    map[string]int64 // modified times of the devices that core-metadata was asked for: events up to then are in them
}

func newDevices(metadata string) *devices {
	return &devices{metadata: metadata, known: map[string]object{}, asked: map[string]int64{}}
}

// put notes a device as an event has it. If the event does not have it, core-metadata is asked.
func (d *devices) put(name string, device object) (object, error) {
	if device == nil {
		return d.ask(name)
	}
	d.known[name] = device
	delete(d.asked, name)
	return device, nil
}

// ask returns a device from core-metadata, which has it as of the event that is looked at or a later one.
func (d *devices) ask(name string) (object, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.metadata+"/api/v2/device/name/"+url.PathEscape(name), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", request.URL, answer.Status)
	}
	var found struct{ Device object }
	decoder := json.NewDecoder(answer.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&found); err != nil {
		return nil, err
	}
	modified, _ := found.Device["modified"].(json.Number)
	d.known[name] = found.Device
	d.asked[name], err = modified.Int64()
	return found.Device, err
}
