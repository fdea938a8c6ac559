#include "millrace/launch/kubernetes/room.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

Json node(const std::string& name, const std::string& cpus, const Json& labels = Json::object()) {
  return {{"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"status", {{"allocatable", {{"cpu", cpus}, {"memory", "8Gi"}, {"pods", "110"}}}}}};
}

Json spec(const Json& requests) {
  return {{"containers", Json::array({{{"resources", {{"requests", requests}}}}})}};
}

Json pod_on(const std::string& machine, const Json& requests, const std::string& phase) {
  Json pod = {{"kind", "Pod"}, {"spec", spec(requests)}, {"status", {{"phase", phase}}}};
  pod["spec"]["nodeName"] = machine;
  return pod;
}

// So many pods that ask for so many cores.
PodWish pods(int64_t count, const std::string& cpus) {
  PodWish wish = wish_of(spec({{"cpu", cpus}}));
  wish.count = count;
  return wish;
}

TEST_CASE("quantities are read as Kubernetes writes them") {
  CHECK(thousandths_of("100m") == 100);
  CHECK(thousandths_of("2") == 2000);
  CHECK(thousandths_of("1.5") == 1500);
  CHECK(thousandths_of("64Mi") == int64_t{64} * 1024 * 1024 * 1000);
  CHECK(thousandths_of("2k") == 2'000'000);
  CHECK(thousandths_of("1e3") == 1'000'000);
  CHECK(thousandths_of("250n") == 1);  // never less than is asked for
  for (const char* none : {"", "much", "-3", "4 cores", "Mi"}) CHECK(thousandths_of(none) == 0);
  CHECK(thousandths_of("9000E") == std::numeric_limits<int64_t>::max());
}

TEST_CASE("pods fit as far as machines have room that others do not take") {
  auto machines =
      machines_of({node("a", "4"), node("b", "4"), pod_on("a", {{"cpu", "2500m"}}, "Running"),
                   pod_on("b", {{"cpu", "4"}}, "Succeeded")});
  // One beside the pod that runs, and four on the other, of which one has ended.
  CHECK(put_on(machines, {pods(8, "1")}) == 5);
  CHECK(put_on(machines, {pods(1, "1")}) == 0);
  auto whole = emptied(machines);
  CHECK(put_on(whole, {pods(8, "1")}) == 8);
}

TEST_CASE("room on two machines is no room for one pod") {
  auto machines = machines_of({node("a", "2"), node("b", "2")});
  CHECK(put_on(machines, {pods(1, "3")}) == 0);
}

TEST_CASE("small pods do not take the place that only a large one needs") {
  auto machines = machines_of({node("a", "4"), node("b", "2")});
  CHECK(put_on(machines, {pods(2, "1"), pods(1, "4")}) == 3);
}

TEST_CASE("pods go where their labels are, and nowhere else") {
  auto machines = machines_of({node("a", "4"), node("b", "4", {{"disk", "fast"}})});
  PodWish wish = pods(6, "1");
  wish.nodes = {{"disk", "fast"}};
  CHECK(put_on(machines, {wish}) == 4);
}

TEST_CASE("machines that are closed or tainted have no room") {
  Json closed = node("a", "4");
  closed["spec"] = {{"unschedulable", true}};
  Json lost = node("b", "4");
  lost["spec"]["taints"] = {{{"key", "node.kubernetes.io/unreachable"}, {"effect", "NoSchedule"}}};
  Json busy = node("c", "4");
  busy["spec"]["taints"] = {{{"key", "busy"}, {"effect", "PreferNoSchedule"}}};
  auto machines = machines_of({closed, lost, busy});
  CHECK(put_on(machines, {pods(9, "1")}) == 4);
}

TEST_CASE("pods that tolerate what keeps others off have room there") {
  Json dear = node("a", "4");
  dear["spec"]["taints"] = {{{"key", "gpu"}, {"value", "yes"}, {"effect", "NoSchedule"}}};
  Json gone = node("b", "4");
  gone["spec"]["taints"] = {{{"key", "gpu"}, {"value", "yes"}, {"effect", "NoSchedule"}},
                            {{"key", "node.kubernetes.io/unreachable"}, {"effect", "NoExecute"}}};
  const auto fit = [&](const Json& toleration) {
    Json asking = spec({{"cpu", "1"}});
    asking["tolerations"] = Json::array({toleration});
    PodWish wish = wish_of(asking);
    wish.count = 9;
    auto machines = machines_of({dear, gone});
    return put_on(machines, {wish});
  };
  CHECK(fit({{"key", "gpu"}, {"operator", "Exists"}}) == 4);
  CHECK(fit({{"key", "gpu"}, {"value", "yes"}, {"effect", "NoSchedule"}}) == 4);
  CHECK(fit({{"key", "gpu"}, {"value", "no"}, {"effect", "NoSchedule"}}) == 0);
  CHECK(fit({{"key", "gpu"}, {"operator", "Exists"}, {"effect", "NoExecute"}}) == 0);
  CHECK(fit({{"operator", "Exists"}}) == 8);
}

TEST_CASE("pods that keep apart have one place for each value of their label") {
  Json asking = spec({{"cpu", "1"}});
  asking["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
      Json::array({{{"topologyKey", "rack"}}});
  PodWish wish = wish_of(asking);
  wish.count = 9;
  auto machines = machines_of({node("a", "4", {{"rack", "1"}}), node("b", "4", {{"rack", "1"}}),
                               node("c", "4", {{"rack", "2"}}), node("d", "4")});
  CHECK(put_on(machines, {wish}) == 2);
}

TEST_CASE("a pod that asks for nothing takes one of the places for pods") {
  Json small = node("a", "4");
  small["status"]["allocatable"]["pods"] = "3";
  auto machines = machines_of({small, pod_on("a", Json::object(), "Running")});
  CHECK(put_on(machines, {pods(9, "0")}) == 2);
}

TEST_CASE("limits count where nothing is requested, and what begins counts with what runs") {
  const PodWish wish = wish_of(
      {{"containers",
        {{{"resources",
           {{"limits", {{"nvidia.com/gpu", "1"}, {"cpu", "2"}}}, {"requests", {{"cpu", "1"}}}}}},
         {{"resources", {{"requests", {{"cpu", "1"}}}}}}}},
       {"initContainers", {{{"resources", {{"requests", {{"cpu", "3"}}}}}}}},
       {"overhead", {{"cpu", "100m"}}}});
  CHECK(wish.asks == Amounts{{"cpu", 3100}, {"nvidia.com/gpu", 1000}, {"pods", 1000}});
}

TEST_CASE("objects of any shape have no room") {
  const Json odd = {{"kind", "Node"}, {"status", {{"allocatable", 3}}}, {"spec", "x"}};
  auto machines = machines_of({Json::array(), 4, odd, {{"kind", "Pod"}, {"spec", 3}}});
  CHECK(put_on(machines, {pods(1, "1")}) == 0);
}

}  // namespace
}  // namespace millrace
