// Appservice is an application service on EdgeX's SDK. It prints each event that it hears on the message bus.
package main

import (
	"fmt"
	"os"

	"github.com/edgexfoundry/app-functions-sdk-go/v2/pkg"
	"github.com/edgexfoundry/app-functions-sdk-go/v2/pkg/interfaces"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos"
)

func main() {
	service, ok := pkg.NewAppService("app-ledge")
	if !ok {
		os.Exit(1)
	}
	if err := service.SetDefaultFunctionsPipeline(show); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := service.MakeItRun(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// show prints "heard", the device and the source, and the values of an event: the text of a simple one, the length of a binary one.
func show(_ interfaces.AppFunctionContext, data any) (bool, any) {
	event, ok := data.(dtos.Event)
	if !ok {
		fmt.Printf("heard %T\n", data)
		return false, nil
	}
	fmt.Print("heard ", event.DeviceName, " ", event.SourceName)
	for _, r := range event.Readings {
		if r.BinaryValue != nil {
			fmt.Print(" ", len(r.BinaryValue))
			continue
		}
		fmt.Print(" ", r.Value)
	}
	fmt.Println()
	return false, nil
}
