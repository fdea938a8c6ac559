#include "millrace/launch/yarn/hadoop_conf.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

HadoopConf with_host(HadoopConf conf) {
  conf["yarn.resourcemanager.hostname"] = "rm";
  return conf;
}

TEST_CASE("properties are read from Hadoop's files as people write them") {
  const HadoopConf conf = parse_hadoop_conf(R"(<?xml version="1.0"?>
    <configuration>
      <!-- <property><name>commented</name><value>out</value></property> -->
      <property>
        <name> a.b </name>
        <value>
          x &lt;&amp; y
        </value>
        <final>true</final>
      </property>
      <property><name>a.b</name><value>later</value></property>
      <property><name>empty</name><value></value></property>
      <property><value>without a name</value></property>
    </configuration>)");
  CHECK(conf == HadoopConf{{"a.b", "later"}, {"empty", ""}});
  CHECK(parse_hadoop_conf("<property><name>n</name><value>&lt;&amp;</value></property>").at("n") ==
        "<&");
  CHECK(parse_hadoop_conf("<property><name>cut").empty());
}

TEST_CASE("with a host alone the ports are those that Hadoop takes") {
  const YarnAddresses addresses = yarn_addresses(with_host({})).value();
  CHECK(addresses.web == std::vector<std::string>{"http://rm:8088"});
  CHECK(addresses.schedulers == std::vector<std::string>{"rm:8030"});
  CHECK_FALSE(addresses.has_kerberos);
}

TEST_CASE("addresses may be given, by other properties, and for all of a machine's") {
  const YarnAddresses addresses =
      yarn_addresses(with_host({{"yarn.resourcemanager.webapp.address", "0.0.0.0:8000"},
                                {"yarn.resourcemanager.scheduler.address",
                                 "${yarn.resourcemanager.hostname}:8001"}}))
          .value();
  CHECK(addresses.web == std::vector<std::string>{"http://rm:8000"});
  CHECK(addresses.schedulers == std::vector<std::string>{"rm:8001"});
  // Nobody gets lost in a circle.
  CHECK_FALSE(yarn_addresses({{"yarn.resourcemanager.hostname", "${yarn.resourcemanager.hostname}"},
                              {"yarn.http.policy", "${yarn.http.policy}"}})
                  .value()
                  .web.empty());
}

TEST_CASE("of two managers both are known, secure ones by their secure address") {
  const YarnAddresses addresses = yarn_addresses({{"yarn.resourcemanager.ha.enabled", "true"},
                                                  {"yarn.resourcemanager.ha.rm-ids", "one, two"},
                                                  {"yarn.resourcemanager.hostname.one", "a"},
                                                  {"yarn.resourcemanager.hostname.two", "b"},
                                                  {"yarn.http.policy", "HTTPS_ONLY"},
                                                  {"hadoop.http.authentication.type", "kerberos"}})
                                      .value();
  CHECK(addresses.web == std::vector<std::string>{"https://a:8090", "https://b:8090"});
  CHECK(addresses.schedulers == std::vector<std::string>{"a:8030", "b:8030"});
  CHECK(addresses.has_kerberos);
}

TEST_CASE("who the manager is to Kerberos is known, and how tokens name servers") {
  const YarnAddresses plain = yarn_addresses(with_host({})).value();
  CHECK(plain.principal.empty());
  CHECK(plain.tokens_name_numbers);
  const YarnAddresses addresses =
      yarn_addresses(with_host({{"hadoop.security.authentication", "kerberos"},
                                {"hadoop.security.token.service.use_ip", "false"},
                                {"yarn.resourcemanager.principal", "yarn/_HOST@EXAMPLE.COM"}}))
          .value();
  CHECK(addresses.has_kerberos);
  CHECK(addresses.principal == "yarn/rm@EXAMPLE.COM");
  CHECK_FALSE(addresses.tokens_name_numbers);
}

TEST_CASE("where nothing says where the manager is, that is said") {
  CHECK(yarn_addresses({}).status().code() == Code::failed_precondition);
  CHECK_FALSE(yarn_addresses({{"yarn.resourcemanager.webapp.address", "0.0.0.0:8088"}}).ok());
}

TEST_CASE("where logs are collected is said for all, for one format, or not at all") {
  CHECK(yarn_addresses(with_host({})).value().logs.root.empty());
  const std::string id = "application_1700000000000_10007";
  const auto folders = [&](HadoopConf conf) {
    conf["yarn.log-aggregation-enable"] = "true";
    const YarnAddresses addresses = yarn_addresses(with_host(std::move(conf))).value();
    return aggregated_folders(addresses.logs, "anna", id);
  };
  CHECK(folders({{"fs.defaultFS", "hdfs://nn:8020/"}}) ==
        std::vector<std::string>{"hdfs://nn:8020/tmp/logs/anna/bucket-logs/0007/" + id,
                                 "hdfs://nn:8020/tmp/logs/anna/logs/" + id,
                                 "hdfs://nn:8020/tmp/logs/anna/bucket-logs-tfile/0007/" + id,
                                 "hdfs://nn:8020/tmp/logs/anna/logs-tfile/" + id});
  const auto own = folders({{"fs.defaultFS", "hdfs://nn:8020"},
                            {"yarn.nodemanager.remote-app-log-dir", "file:///shared/logs"},
                            {"yarn.nodemanager.remote-app-log-dir-suffix", "s"},
                            {"yarn.log-aggregation.TFile.remote-app-log-dir-suffix", "t"}});
  CHECK(own.front() == "/shared/logs/anna/bucket-t/0007/" + id);
  CHECK(own.back() == "/shared/logs/anna/s-tfile/" + id);
  CHECK(folders({{"yarn.nodemanager.remote-app-log-dir", "/all"},
                 {"yarn.log-aggregation.TFile.remote-app-log-dir", "/own"}})
            .front()
            .starts_with("/own/anna/"));
}

}  // namespace
}  // namespace millrace
