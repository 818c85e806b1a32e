"""Settings of RocketMQ 4.9 and 5.3 that cannot be changed while this broker runs, with the reason.

Settings that Orbit has itself are not here: `broker_core.config` says which of them are live.
Source: what GET_BROKER_CONFIG of 4.9.4 and 5.3.3 lists (docs/spec/broker.md §16.2).
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.config import BrokerConfig, StoreConfig, setting_keys

AT_START = "it takes effect at a start only; give it with --set"

_GROUPS: Mapping[str, str] = {
    "there are no slaves, no controller and no container of brokers": """
        allAckInSyncStateSet asyncLearner brokerElectionPriority brokerHeartbeatInterval brokerIP2
        brokerNotActiveTimeoutMillis brokerRole checkSyncStateSetPeriod cleanOfflineBrokerInterval controllerAddr
        controllerHeartBeatTimeoutMills duplicationEnable enableAutoInSyncReplicas enableControllerMode
        enableRemoteEscape enableSlaveActingMaster fetchControllerAddrByDnsLookup forwardTimeout haFlowControlEnable
        haHousekeepingInterval haListenPort haMaxGapNotInSync haMaxTimeSlaveNotCatchup haSendHeartbeatInterval
        haSlaveFallbehindMax haTransferBatchSize inSyncReplicas isBrokerContainer isInBrokerContainer maxChecksumRange
        maxHaTransferByteInSecond maxSlaveResendLength minInSyncReplicas offsetCheckInSlave replicasPerDiskPartition
        sendHeartbeatTimeoutMillis skipPreOnline slaveTimeout syncBrokerMemberGroupPeriod syncBrokerMetadataPeriod
        syncControllerMetadataPeriod syncFromLastFile syncMasterFlushOffsetWhenStartup totalReplicas
    """,
    "the store has one form of log and queues: no RocksDB, compaction, cold data, DLedger or plug-in": """
        bottomMostCompressionTypeForConsumeQueueStore cgColdReadThreshold cleanRocksDBDirtyCQIntervalMin
        coldCtrStrategyEnable coldDataFlowControlEnable coldDataScanEnable compactionCqMappedFileSize
        compactionMappedFileSize compactionScheduleInternal compactionThreadNum configManagerVersion enableCompaction
        enableDLegerCommitLog enableRocksDBLog globalColdReadThreshold mapperFileSizeBatchConsumeQueue
        maxOffsetMapSize memTableFlushIntervalMs messageStorePlugIn popConsumerFSServiceInit
        popConsumerKVServiceEnable popConsumerKVServiceInit popConsumerKVServiceLog readUnCommitted
        realTimePersistRocksDBConfig rocksdbCQDoubleWriteEnable rocksdbCompressionType rocksdbFlushWalFrequency
        rocksdbWalFileRollingThreshold searchBcqByCacheEnable statRocksDBCQIntervalSec storeType
        timerColdDataCheckIntervalMs usePIDColdCtrStrategy
    """,
    "connections have fixed bounds": """
        channelExpiredTimeout channelNotActiveInterval clientAsyncSemaphoreValue clientCallbackExecutorThreads
        clientChannelMaxIdleTimeSeconds clientCloseSocketIfTimeout clientOnewaySemaphoreValue
        clientPooledByteBufAllocatorEnable clientSocketRcvBufSize clientSocketSndBufSize clientWorkerThreads
        connectTimeoutMillis disableCallbackExecutor disableNettyWorkerGroup enableFastChannelEventProcess
        enableNetWorkFlowControl enableReconnectForGoAway enableShutdownGracefully highSpeedMode
        maxReconnectIntervalTimeSeconds printChannelGroups printChannelGroupsMinNum serverAsyncSemaphoreValue
        serverCallbackExecutorThreads serverChannelMaxIdleTimeSeconds serverLoadBalancerEnable
        serverNettyWorkerGroupEnable serverOnewaySemaphoreValue serverPooledByteBufAllocatorEnable
        serverSelectorThreads serverSocketBacklog serverSocketRcvBufSize serverSocketSndBufSize serverWorkerThreads
        shutdownWaitTimeSeconds socksProxyConfig useEpollNativeSelector useTLS writeBufferHighWaterMark
        writeBufferLowWaterMark
    """,
    "requests are served in the order in which they arrive, without thread pools and their queues": """
        ackMessageThreadPoolNums ackThreadPoolQueueCapacity adminBrokerThreadPoolNums
        adminBrokerThreadPoolQueueCapacity appendAckAsync appendCkAsync asyncSendEnable
        batchDispatchRequestThreadPoolNums clientManageThreadPoolNums clientManagerThreadPoolQueueCapacity
        consumerManageThreadPoolNums consumerManagerThreadPoolQueueCapacity debugLockEnable dispatchCqCacheNum
        dispatchCqThreads dispatchFromSenderThread enableAsyncReput enableBuildConsumeQueueConcurrently
        enableScheduleAsyncDeliver endTransactionPoolQueueCapacity endTransactionThreadPoolNums
        heartbeatThreadPoolNums heartbeatThreadPoolQueueCapacity litePullMessageThreadPoolNums
        litePullThreadPoolQueueCapacity loadBalanceProcessorThreadPoolNums loadBalanceThreadPoolQueueCapacity
        maxAsyncPutMessageRequests maxDelayTime processReplyMessageThreadPoolNums pullMessageThreadPoolNums
        pullThreadPoolQueueCapacity putMessageFutureThreadPoolNums putMessageTimeout putMsgIndexHightWater
        putThreadPoolQueueCapacity queryMessageThreadPoolNums queryThreadPoolQueueCapacity recoverConcurrently
        recoverThreadPoolNums replyThreadPoolQueueCapacity scheduleAsyncDeliverMaxPendingLimit
        scheduleAsyncDeliverMaxResendNum2Blocked sendMessageThreadPoolNums sendThreadPoolQueueCapacity
        spinLockCollisionRetreatOptimalDegree timerEnableDisruptor timerGetMessageThreadNum timerPutMessageThreadNum
        topicQueueLockNum transferMsgByHeap useABSLock useReentrantLockWhenPutMessage waitTimeMillsInAckQueue
        waitTimeMillsInAdminBrokerQueue waitTimeMillsInHeartbeatQueue waitTimeMillsInLitePullQueue
        waitTimeMillsInPullQueue waitTimeMillsInTransactionQueue
    """,
    "statistics are always kept, and are exported by the window": """
        accountStatsEnable accountStatsPrintZeroValues autoDeleteUnusedStats bitMapLengthConsumeQueueExt
        commercialBaseCount commercialBigCount commercialEnable commercialSizePerMsg commercialTimerCount
        commercialTransCount enableCalcFilterBitMap enableDetailStat enableLmqStats enablePopLog
        enableScheduleMessageStats estimateAccumulation expectConsumerNumUseFilter isolateLogEnable
        maxErrorRateOfBloomFilter maxStatsIdleTimeInMinutes metricGrpcExporterIntervalInMills
        metricGrpcExporterTimeOutInMills metricLoggingExporterIntervalInMills metricsExporterType
        metricsGrpcExporterHeader metricsGrpcExporterTarget metricsInDelta metricsLabel metricsOtelCardinalityLimit
        metricsPromExporterHost metricsPromExporterPort sampleCountThreshold sampleSteps timerCheckMetricsWhen
        timerEnableCheckMetrics timerMetricSmallThreshold timerProgressLogIntervalMs traceOn
        transactionMetricFlushInterval
    """,
    "the name server is the one inside, and registrations have one form": """
        brokerTopicEnable clusterTopicEnable compatibleWithOldNameSrv compressedRegister enableRegisterProducer
        enableSingleTopicRegister enableSplitRegistration fetchNameSrvAddrByDnsLookup fetchNamesrvAddrByAddressServer
        fetchNamesrvAddrInterval filterDataCleanTimeSpan filterServerNums forceRegister isScanAvailableNameSrv
        loadBalancePollNameServerInterval msgTraceTopicName namesrvAddr registerBrokerTimeoutMills
        splitRegistrationSize updateNameServerAddrPeriod
    """,
    "files are mapped, written, synced and deleted in one way": """
        accessMessageInMemoryHotRatio cleanSwapedMapInterval commitCommitLogLeastPages commitCommitLogThoroughInterval
        commitIntervalCommitLog commitLogForceSwapMapInterval commitLogSwapMapInterval commitLogSwapMapReserveFileNum
        correctLogicMinOffsetForceInterval correctLogicMinOffsetSleepInterval dataReadAheadEnable
        deleteCommitLogFilesInterval deleteConsumeQueueFilesInterval destroyMapedFileIntervalForcibly diskFallRecorded
        fastFailIfNoBufferInStorePool flushCommitLogTimed flushLeastPagesWhenWarmMapedFile
        logicQueueForceSwapMapInterval logicQueueSwapMapInterval logicQueueSwapMapReserveFileNum
        logicalDiskSpaceCleanForciblyThreshold mappedFileSwapEnable maxBatchDeleteFilesNum maxRecoveryCommitlogFiles
        messageIndexSafe putConsumeQueueDataByFileChannel recheckReputOffsetFromCq redeleteHangedFileInterval
        timerWarmEnable transientStorePoolEnable transientStorePoolSize travelCqFileNumWhenGetMessage
        wakeCommitWhenPutMessage wakeFlushWhenPutMessage warmMapedFileEnable
    """,
    "the behaviour is fixed": """
        allowRecallWhenBrokerNotWriteable autoMessageVersionOnTopicLen broadcastOffsetExpireMaxSecond
        broadcastOffsetExpireSecond clearRetryTopicWhenDeleteTopic consumerOffsetUpdateVersionStep
        defaultMessageRequestMode delayOffsetUpdateVersionStep disappearTimeAfterStart enableBatchPush
        enableBroadcastOffsetStore enableCleanExpiredOffset enableCreateSysGroup enableMixedMessageType
        enableNotifyAfterPopOrderLockRelease enableNotifyBeforePopCalculateLag enablePopBatchAck
        enablePopMessageThreshold enableSkipLongAwaitingAck enabledAppendPropCRC flushConsumerOffsetHistoryInterval
        initPopOffsetByCheckMsgInMem isEnableBatchPush lockInStrictMode maxConsumeQueueScan maxFilterMessageSize
        maxTopicLength notifyConsumerIdsChangedEnable popCkOffsetMaxQueueSize popInflightMessageThreshold
        popLongPollingForceNotifyInterval popPollingMapSize popResponseReturnActualRetryTopic popReviveMaxAttemptTimes
        popReviveMaxReturnSizePerRead pullBatchMaxMessageCount realTimeNotifyConsumerChange rejectPullConsumerEnable
        reviveAckWaitMs reviveInterval reviveMaxSlow reviveScanTime skipWhenCKRePutReachMaxTimes
        subscriptionExpiredTimeout timerEnableRetryUntilSuccess timerInterceptDelayLevel timerSkipUnknownError
        timerStopDequeue timerStopEnqueue useServerSideResetOffset useStaticSubscription
        validateSystemTopicWhenUpdateTopic
    """,
}
REFUSED_SETTINGS: Mapping[str, tuple[str, ...]] = {reason: tuple(keys.split()) for reason, keys in _GROUPS.items()}
"""Reason → keys."""

_REASONS = {key: reason for reason, keys in REFUSED_SETTINGS.items() for key in keys}


def why_not_live(key: str) -> str:
    """Why a setting that is not live is refused."""
    if key in setting_keys(BrokerConfig) or key in setting_keys(StoreConfig):
        return AT_START
    return _REASONS.get(key, "neither 4.9 nor 5.3 has a setting of this name")
